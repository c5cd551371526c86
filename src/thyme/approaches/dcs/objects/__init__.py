"""Objects: who keeps copies, how they are found and fetched, and how cells learn where they are."""
