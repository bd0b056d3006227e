// The command line of the bench: its help, which options a path takes, and which node is loaded.

import ArgumentParser
import Cumulus
import CumulusTerminal
import Testing

@testable import CumulusBench

@Suite struct BenchOptionTests {
    @Test func itExplainsItself() {
        let help = Bench.helpMessage(columns: 400)
        #expect(help.contains("--json") && help.contains("  cumulus-bench save --"))
        #expect(help.contains("Exit codes: 0 done, 1 "))
    }

    /// An option that would change nothing is refused.
    @Test(arguments: [
        ["lag", "--records", "5000"], ["fetch", "--megabytes", "5"], ["idle", "--seconds", "5"],
        ["save", "--text", "f"], ["save", "--idle-connections", "5"],
        ["asset", "--in-flight", "5"], ["save", "--followers", "5"], ["lag", "--topics", "500"],
        ["idle", "--idle-feeds", "5"], ["feed", "--idle-connections", "5"],
        ["feed", "--endpoint", "a:1", "--token", "t"],
        ["http", "--endpoint", "a:1", "--token", "t"],
        ["--endpoint", "a:1", "--token", "t", "--followers", "5"], ["fetch", "--container", "c"],
        ["fetch", "--token", "t"], ["fetch", "--authority", "f"], ["--tls", "always"],
        ["save", "--timeout", "5"], ["save", "--endpoint", "a:1,b:1", "--token", "t"],
        ["fetch", "--endpoint", "a:1", "--token", "t", "--profile", "small"],
        ["--endpoint", "a:1", "--token", "t", "--megabytes", "5"],
    ])
    func anOptionThatDoesNothingIsRefused(words: [String]) throws {
        let error = #expect(throws: (any Error).self) { try Bench.parseAsRoot(words) }
        #expect(Bench.exitCode(for: try #require(error)) == ExitCode(64))
    }

    @Test(arguments: [
        ["--records", "5000", "--idle-connections", "5", "--megabytes", "5"],
        ["feed", "--followers", "5", "--topics", "500", "--idle-feeds", "5"],
        ["feed", "--records", "5000", "--in-flight", "5", "--seconds", "1", "--json"],
        ["lag", "--in-flight", "5", "--seconds", "5", "--profile", "small", "--json"],
        ["http", "--in-flight", "5", "--connections", "2", "--seconds", "1", "--json"],
        ["fetch", "--endpoint", "a:1", "--token", "t", "--container", "c"],
        ["idle", "--endpoint", "a", "--token", "t", "--authority", "f", "--timeout", "5"],
        ["--endpoint", "a:1", "--token", "t", "--tls", "always"],
    ])
    func anOptionThatDoesSomethingIsTaken(words: [String]) throws {
        _ = try Bench.parseAsRoot(words)
    }

    /// Like all commands, it does not have to show the token in the list of processes.
    @Test func itsTokenIsTakenFromTheEnvironment() throws {
        let words = ["fetch", "--endpoint", "a:1"]
        let variables = ["CUMULUS_TOKEN": "t", "CUMULUS_CONTAINER": "c"]
        try Setting.$variables.withValue(variables) {
            let bench = try #require(try Bench.parseAsRoot(words) as? Bench)
            #expect(bench.options.token == "t" && bench.options.container == "c")
        }
        let error = Setting.$variables.withValue([:]) {
            #expect(throws: (any Error).self) { try Bench.parseAsRoot(words) }
        }
        #expect(Bench.message(for: try #require(error)).contains("CUMULUS_TOKEN"))
    }

    /// The variable names a node for commands: a load must be asked for.
    @Test func onlyTheNodeOfItsOptionIsLoaded() throws {
        let variables = [
            "CUMULUS_ENDPOINT": "a:1", "CUMULUS_TOKEN": "t", "CUMULUS_TLS": "always",
            "CUMULUS_AUTHORITY": "f",
        ]
        try Setting.$variables.withValue(variables) {
            let own = try #require(try Bench.parseAsRoot(["save"]) as? Bench)
            #expect(own.options.endpoint == nil)
            let words = ["save", "--endpoint", "b"]
            let bench = try #require(try Bench.parseAsRoot(words) as? Bench)
            #expect(bench.options.endpoint == "b:7420")
            let configuration = try bench.options.nodes.configuration(timeout: 10)
            #expect(configuration.endpoints == ["b:7420"])
            #expect(configuration.tls == .always && configuration.authority == "f")
        }
    }
}
