"""What is kept between requests: answers, and the encoded tokens of context streams."""
