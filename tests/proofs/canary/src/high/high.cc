namespace canary {
int high() { return 1; }
}  // namespace canary
