def congestion_controls() -> list[str]:
    """The names of the simulator's congestion controls, in alphabetical order."""

def wrong_parameter(choice_json: str) -> tuple[str, str, str] | None:
    """What is wrong with a congestion control's parameters, as the control itself checks them: the parameter,
    what was found and what is expected. None where nothing is wrong.

    choice_json: its name, which is one of `congestion_controls`, and its parameters, in one table.
    Raises ValueError for another name.
    """
