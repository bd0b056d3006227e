// `cumulus console`: opens the node's console in a browser, with the operator signed in.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Open the node's console in a browser, signed in.",
        discussion: help(
            "cumulus console",
            "cumulus console --profile work",
            "cumulus console --print",
            note: """
                The node has to serve HTTP ('cumulusd --http 127.0.0.1:7480'). The URL signs in \
                once, within a minute, and holds no token. From another machine forward the port \
                first, ssh -L 7480:127.0.0.1:7480 HOST, and use --print.
                """
        )
    )

    @Flag(name: .customLong("print"), help: "Print the URL, and open no browser.")
    var prints = false
    @OptionGroup var connection: OperatorConnection
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let found = try await connection.withOperator { try await $0.consoleURL(host: $0.host) }
        guard let url = found else {
            throw InputProblem(
                "this node serves no HTTP, and so no console: start it with --http, such as "
                    + "'cumulusd --http 127.0.0.1:7480'"
            )
        }
        guard !prints, !output.json else {
            return try output.show(["url": .string(url)], rows: [[url]])
        }
        guard Browser.open(url) else {
            complain("'\(Browser.opener)' opens no browser here; open this within a minute:")
            return try StandardOutput.write(line: url)
        }
        try StandardOutput.write(line: "opened \(url.prefix { $0 != "#" })")
    }
}

/// The user's browser.
private enum Browser {
    #if os(macOS)
        static let opener = "open"
    #else
        static let opener = "xdg-open"
    #endif

    /// Opens a URL; false if there is no program that does.
    static func open(_ url: String) -> Bool {
        #if os(Linux)
            var actions = posix_spawn_file_actions_t()
        #else
            var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, flags) in [(STDIN_FILENO, O_RDONLY), (STDOUT_FILENO, O_WRONLY)] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", flags, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        let words = strings([opener, url])
        let settings = strings(Setting.variables.map { "\($0.key)=\($0.value)" })
        defer { for string in words + settings { free(string) } }
        var process: pid_t = 0
        guard posix_spawnp(&process, opener, &actions, nil, words, settings) == 0 else {
            return false
        }
        var status: Int32 = 0
        return waitpid(process, &status, 0) == process && status == 0
    }

    /// The texts as a C array that ends with nil.
    private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        var strings: [UnsafeMutablePointer<CChar>?] = []
        for text in texts { strings.append(strdup(text)) }
        return strings + [nil]
    }
}

extension NodeOperator {
    /// The host of its address, as it stands in a URL.
    fileprivate var host: String {
        String(endpoint[..<(endpoint.lastIndex(of: ":") ?? endpoint.endIndex)])
    }
}
