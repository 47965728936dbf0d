"""The worst-case toolbox: counting queries, randomised response, bit flipping, metric spaces, low sample complexity."""
