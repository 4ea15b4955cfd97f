"""Next edits from version histories: makes examples of repositories, and measures what is proposed for them."""
