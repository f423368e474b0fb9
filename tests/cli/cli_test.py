"""The commands as a person in a terminal and a script in a pipe meet them."""

import os
import pty
import re
import select
import subprocess
import time
import unittest

from served import BINARY, GEMMA3, SMOLLM2, Served, need

STORY = "Write a very long story about a lift that never stops."


def run(*arguments, stdin="", **more):
    return subprocess.run([BINARY, *arguments], input=stdin, capture_output=True, text=True,
                          timeout=120, check=False, **more)


class Person:
    """Somebody at a pseudo-terminal."""

    def __init__(self, *arguments):
        self.process_id, self.terminal = pty.fork()
        if self.process_id == 0:
            os.environ["TERM"] = "xterm"
            os.execv(BINARY, [BINARY, *arguments])
        self.seen = ""

    def types(self, text):
        os.write(self.terminal, text.encode())

    def sees(self, pattern, within=60):
        """Waits for the pattern; gives what came up to its end, and forgets it."""
        end = time.time() + within
        while True:
            plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.seen)
            found = re.search(pattern, plain)
            if found:
                self.seen = plain[found.end():]
                return plain[:found.end()]
            if time.time() > end or not self.read_more():
                raise AssertionError(f"no {pattern!r} in {plain[-2000:]!r}")

    def read_more(self):
        if not select.select([self.terminal], [], [], 1)[0]:
            return True
        try:
            self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        except OSError:
            return False
        return True

    def leaves(self, within=20):
        end = time.time() + within
        while time.time() < end:
            done, status = os.waitpid(self.process_id, os.WNOHANG)
            if done:
                os.close(self.terminal)
                return os.waitstatus_to_exitcode(status)
            if select.select([self.terminal], [], [], 0.05)[0]:
                self.read_more()
        os.kill(self.process_id, 9)
        raise AssertionError("the program did not end")


class Talking(unittest.TestCase):
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.where = (need(SMOLLM2),)

    def chat(self, *flags):
        person = Person("chat", *self.where, *flags)
        person.sees("answers.*\r\n> ")
        return person

    def test_an_answer_comes_and_the_next_prompt_follows(self):
        person = self.chat("--max-tokens", "20", "--temperature", "0")
        person.types("Why is the sky blue?\n")
        self.assertRegex(person.sees(r"\(\d+ tokens, .*\)\s+> "), r"\w+ \w+ \w+")
        person.types("\x04")
        self.assertEqual(person.leaves(), 0)

    def test_control_c_stops_the_answer_and_not_the_program(self):
        person = self.chat("--temperature", "0")  # other answers may be short
        person.types(STORY + "\n")
        person.sees(r"stops\.\r\n[^>\s]\S* \S+ \S+")  # of the answer
        person.types("\x03")
        person.sees(r"stopped\)\s+> ")
        person.types("/system Be brief.\n")
        person.sees(r"system prompt is set\.\s+> ")
        person.types("/exit\n")
        self.assertEqual(person.leaves(), 0)

    def test_control_c_twice_at_the_prompt_leaves(self):
        person = self.chat()
        person.types("\x03")
        person.sees(r"leaves\.\s+> ")
        person.types("\x03")
        self.assertEqual(person.leaves(), 0)

    def test_control_c_drops_a_half_typed_message(self):
        person = self.chat("--max-tokens", "5")
        person.types("do not send this")
        person.sees("send this")
        person.types("\x03")
        person.sees(r"leaves\.\s+> ")
        person.types("/help\n")
        self.assertNotIn("tokens,", person.sees(r"written with two\.\s+> "))
        person.types("\x04")
        self.assertEqual(person.leaves(), 0)

    def test_help_lists_the_commands_and_an_unknown_one_is_not_sent(self):
        person = self.chat()
        person.types("/help\n")
        text = person.sees("written with two")
        for word in ("/help", "/reset", "/system", "/exit"):
            self.assertIn(word, text)
        person.types("/nonsense\n")
        person.sees("There is no command /nonsense")
        person.types("/reset\n")
        person.sees("begins anew")
        person.types("/exit\n")
        self.assertEqual(person.leaves(), 0)

    def test_pasted_lines_are_one_message(self):
        person = self.chat("--max-tokens", "5")
        person.types("Add these:\none\ntwo\nthree\n")
        self.assertEqual(len(re.findall("tokens,", person.sees(r"tokens, .*\)\s+> "))), 1)
        time.sleep(0.5)
        person.types("/exit\n")
        self.assertNotIn("tokens,", person.sees("/exit"))
        self.assertEqual(person.leaves(), 0)

    def test_a_pipe_may_chat_too(self):
        result = run("chat", *self.where, "--max-tokens", "8", "--temperature", "0",
                     stdin="Hello\nAnd again\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertGreater(len(result.stdout.strip()), 8)
        self.assertNotIn("\x1b", result.stdout)


class TalkingToAServer(Talking):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Served(need(SMOLLM2)))
        cls.where = ("--url", cls.server.origin)

    def tearDown(self):
        self.assertTrue(self.server.quiet(3), "the server still runs a request that was stopped")


class Running(unittest.TestCase):
    def setUp(self):
        self.model = ("--model", need(SMOLLM2))

    def run_greedy(self, *arguments, **more):
        return run("run", *self.model, "--temperature", "0", "--max-tokens", "12", *arguments, **more)

    def test_standard_output_has_the_answer_alone(self):
        result = self.run_greedy("What is the capital of France?")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\w+.*\n$")

    def test_a_piped_prompt_equals_one_on_the_command_line(self):
        self.assertEqual(self.run_greedy("What is the capital of France?").stdout,
                         self.run_greedy(stdin="What is the capital of France?\n").stdout)

    def test_what_is_piped_in_comes_after_the_prompt(self):
        self.assertEqual(self.run_greedy("Summarise this.", stdin="A lift.\n").stdout,
                         self.run_greedy("Summarise this.\n\nA lift.").stdout)

    def test_a_seed_makes_the_answer_repeatable(self):
        ask = ("run", *self.model, "--seed", "5", "--temperature", "1", "--max-tokens", "16", "Hello")
        self.assertEqual(run(*ask).stdout, run(*ask).stdout)

    def test_raw_goes_on_with_the_text(self):
        result = self.run_greedy("--raw", "The capital of France is")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.startswith(" Paris"), result.stdout)

    def test_raw_needs_no_template(self):
        result = run("run", "--model", need(GEMMA3), "--raw", "--temperature", "0", "--max-tokens", "4",
                     "The capital of France is")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertNotEqual(result.stdout.strip(), "")

    def test_a_model_without_a_template_is_told_in_one_line(self):
        result = run("run", "--model", need(GEMMA3), "Hello")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"^paternoster run: .*template.*--raw.*\n$")

    def test_a_reader_that_goes_away_is_no_error(self):
        command = f"{BINARY} run --model {self.model[1]} --max-tokens 8000 '{STORY}' </dev/null | head -c 5"
        result = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((len(result.stdout), result.stderr), (5, ""))

    def test_a_missing_model_is_told_in_one_line(self):
        result = run("run", "--model", "/no/such/model.gguf", "Hello")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"^paternoster run: [^\n]*/no/such/model.gguf[^\n]*\n$")

    def test_a_file_that_is_no_model_is_told_in_one_line(self):
        result = run("run", "--model", __file__, "Hello")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"^paternoster run: [^\n]+\n$")

    def test_a_server_that_is_not_there_is_told_in_one_line(self):
        result = run("run", "--url", "http://127.0.0.1:9", "Hello")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"^paternoster run: no server answers at [^\n]+\n$")

    def test_calls_that_cannot_be_meant_are_usage_errors(self):
        for arguments in (("run",), ("run", ""), ("run", "--no-such-flag", "x"),
                          ("run", "--temperature", "hot", "x"), ("run", "--max-tokens", "0", "x"),
                          ("chat", "--seed", "-1")):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertNotEqual(result.stderr, "")


class Table(unittest.TestCase):
    def test_every_command_in_the_list_explains_itself(self):
        listed = run("--help").stdout
        names = re.findall(r"^  ([a-z]+) +\w", listed, re.M)
        self.assertLessEqual({"serve", "chat", "run", "pull", "inspect"}, set(names))
        for name in names:
            by_help, by_flag = run("help", name), run(name, "--help")
            self.assertEqual((by_help.returncode, by_flag.returncode), (0, 0), name)
            self.assertEqual(by_help.stdout, by_flag.stdout)
            self.assertGreater(len(by_help.stdout), 40)

    def test_an_unknown_command_is_answered_with_the_one_that_was_meant(self):
        result = run("srve")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("`serve`", result.stderr)

    def test_the_version_is_printed(self):
        self.assertRegex(run("--version").stdout, r"^paternoster \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
