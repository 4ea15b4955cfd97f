"""What an edit makes necessary elsewhere: the places that no longer fit, and what belongs there."""
