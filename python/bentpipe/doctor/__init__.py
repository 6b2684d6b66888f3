"""What limits a transfer, from what one end or a capture sees: evidence in, findings out."""
