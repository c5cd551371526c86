"""Live nodes beside other ways to tell others of something: brokers, Zenoh, and UDP with nothing above it."""
