"""What orchestration costs: this project beside a bare loop and its peers, on equal work. See docs/performance.md."""
