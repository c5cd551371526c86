"""The Thyme paper's experiments on real devices (FGCS §10), played by live nodes in an emulated area."""
