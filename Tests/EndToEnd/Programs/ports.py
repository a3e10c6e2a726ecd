"""Prints two ports that are free and stay free while nobody listens."""

from relay import lasting_ports

print(*lasting_ports(2))
