"""What draws one sentence: its heat maps, and the page that replays its steps."""
