"""What an application asks of a node, and what it is given to await or iterate over."""
