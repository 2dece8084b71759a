"""The race: two lanes on one device, one clock for both, recorded, replayed and told in words."""
