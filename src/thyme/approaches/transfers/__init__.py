"""Large contents: chunk by chunk, from several sources at once, and on from where it stopped."""
