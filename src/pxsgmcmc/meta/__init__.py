"""Meta-training of L2E: tasks, inner unrolls, evolution strategies, the folder of it all."""
