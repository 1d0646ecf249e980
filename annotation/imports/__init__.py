"""Imports: files in, rows of questions, traces and labels out; all of a file or nothing of it."""
