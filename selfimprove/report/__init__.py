"""What a run shows people: numbers in words, the chart, the live view, the summary."""
