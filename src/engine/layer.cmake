# Every case compares with riders that ran alone; their answers are computed once a process.
set(one_process_suites "Invariance.smollm2|*/Invariance.*/SmolLM2" "Invariance.gemma3|*/Invariance.*/Gemma3")
