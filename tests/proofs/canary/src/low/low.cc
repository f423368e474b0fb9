namespace canary {
int high();  // declared by hand: an upward call that no #include shows
int low() { return high(); }
}  // namespace canary
