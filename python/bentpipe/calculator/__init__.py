"""`bentpipe calc`: what one path allows one transfer, by formula and packet by packet."""
