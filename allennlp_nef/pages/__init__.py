"""The web pages of the package: their HTML, styles and scripts, and single-file documents made of them."""
