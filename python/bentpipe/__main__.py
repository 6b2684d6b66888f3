"""`python -m bentpipe` is `bentpipe`."""

from bentpipe.cli import main

if __name__ == "__main__":
    main()
