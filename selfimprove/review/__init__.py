"""Reviews in code: rules, advice, critique, gates and the quality of a round. All pure."""
