"""What is offered to the user: completions, alternatives and next edits."""
