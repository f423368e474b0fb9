#include "cli/commands.h"

namespace cli = paternoster::cli;

namespace {

constexpr cli::Command kCommands[] = {
    {"serve", "answer OpenAI-compatible requests and show the lift at /", cli::serve},
    {"chat", "talk with a model in the terminal", cli::chat},
    {"run", "answer one prompt, for scripts and pipes", cli::run},
    {"pull", "fetch a model by name into the cache", cli::pull},
    {"simulate", "say what a workload would meet on an engine, in virtual time", cli::simulate},
    {"advise", "search the settings that meet an SLO best", cli::advise},
    {"calibrate", "measure what a step costs here, for simulate and advise", cli::calibrate},
    {"inspect", "print what is in a model file and what it needs", cli::inspect},
    {"bench", "measure any OpenAI-compatible server honestly", cli::bench},
    {"compare", "run the same work under every scheduler and tell which pays", cli::compare},
    {"mock", "pose as an engine of exactly known timing, for tests", cli::mock},
};

}  // namespace

int main(int argc, char** argv) { return cli::run_command(kCommands, argc, argv); }
