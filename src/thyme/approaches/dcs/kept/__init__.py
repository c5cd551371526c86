"""What a member keeps on behalf of its cell."""
