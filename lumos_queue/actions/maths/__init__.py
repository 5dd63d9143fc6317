"""The maths actions: Calculator, SetEquation, SolveEquation, SolveInequality, Count and Define."""
