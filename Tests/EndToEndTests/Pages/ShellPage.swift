// The shell blocks of a page, run in its order by one bash in an empty folder.
//
// Used by `PageTests`. The programs come from this build. A page says port 7420 and its
// neighbours; the blocks get free ports in their place, and their output is turned back. After a
// block that starts nodes the next one waits until they are ready, as a reader does. All nodes have
// ended when the run has.

import CumulusTesting
import Foundation

struct ShellPage {
    struct Output: Sendable {
        let block: Page.Block
        let text: String
    }

    private let folder: TestFolder
    private let page: Page
    /// The port for each port that the page names.
    private var ports: [Int: Int] = [:]

    /// Where the blocks run.
    private var place: String { "\(folder.path)/place" }
    /// Where the run itself keeps its files.
    private var state: String { "\(folder.path)/state" }

    init(_ page: Page) throws {
        self.page = page
        folder = try TestFolder()
        for name in [place, state, "\(state)/bin", "\(state)/nodes"] {
            try FileManager.default.createDirectory(
                atPath: name,
                withIntermediateDirectories: true
            )
        }
        for port in ShellPage.named {
            ports[port] = TestPort.free()
        }
    }

    /// The ports that pages may name.
    private static let named = [7420, 7421, 7422, 7423, 7480]

    // MARK: The run

    /// Runs the blocks, each of which has to succeed; returns what each has printed.
    func run() async throws -> [Output] {
        let blocks = page.blocks.filter { $0.language == "shell" && $0.mark == nil }
        try write(script(blocks), to: "script")
        try write(wrapper, to: "bin/cumulusd")
        let bash = try ChildProcess(
            ["/usr/bin/env", "bash", "\(state)/script"],
            variables: variables,
            output: "\(state)/out",
            errors: "\(state)/err"
        )
        let ending: ChildProcess.Ending
        do {
            ending = try await bash.waitForEnd(seconds: 100)
        } catch {
            bash.kill(SIGKILL)
            endNodes()
            throw error
        }
        guard ending == .exit(0) else { throw ChildProcess.Failure(failure) }
        return try blocks.indices.map { index in
            Output(block: blocks[index], text: withNamedPorts(try text(of: "\(index).out")))
        }
    }

    private var variables: [String: String] {
        let programs = (try? ChildProcess.builtProgram("cumulus")) ?? ""
        let built = URL(filePath: programs).deletingLastPathComponent().path
        let inherited = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let address = "127.0.0.1:\(ports[7420] ?? 0)"
        return [
            "PATH": "\(state)/bin:\(built):\(inherited)", "HOME": folder.path,
            "CUMULUS_LISTEN": address, "CUMULUS_ENDPOINT": address, "CUMULUS_PROFILE": "small",
        ]
    }

    /// A reader looks at what a block has printed, and so waits for nodes.
    private func script(_ blocks: [Page.Block]) -> String {
        var script = """
            set -euo pipefail
            cd '\(place)'
            end() { kill $(jobs -p) 2>/dev/null || true; wait; }
            trap end EXIT
            ready() {
                for _ in $(seq 600); do
                    said=$(grep -ls '^cumulusd ready on' '\(state)/nodes/'* | wc -l) || true
                    [ "$said" -lt "$1" ] || return 0
                    sleep 0.05
                done
                echo "not all nodes are ready" >&2
                return 1
            }

            """
        var nodes = 0
        for (index, block) in blocks.enumerated() {
            nodes += ShellPage.nodes(startedBy: block.text)
            script += """
                echo '\(page.place(of: block))' >'\(state)/at'
                {
                \(withFreePorts(block.text))} >'\(state)/\(index).out' 2>'\(state)/\(index).err'
                ready \(nodes) 2>>'\(state)/\(index).err'
                cat '\(state)/\(index).err' >&2

                """
        }
        return script
    }

    /// How many lines leave a node in the background; a continued line is one, and the lines of a
    /// file that the block writes are none.
    static func nodes(startedBy text: String) -> Int {
        text.replacing(/<<'EOF'\n(?s:.*?)\nEOF\n/, with: "\n")
            .replacing("\\\n", with: " ").split(separator: "\n")
            .count { $0.hasPrefix("cumulusd ") && $0.hasSuffix(" &") }
    }

    /// Stands before the real program: a node writes into a file that has its pid as its name,
    /// unless the page sends what it writes to a file itself.
    private var wrapper: String {
        get throws {
            """
            #!/bin/sh
            case " $* " in
                *" --version "* | *" --help "* | *" config "*) ;;
                *)
                    case "$(readlink /proc/$$/fd/1 || true)" in
                        "" | '\(state)'/*) exec >'\(state)/nodes/'$$ 2>&1 ;;
                    esac ;;
            esac
            exec '\(try ChildProcess.builtProgram("cumulusd"))' "$@"

            """
        }
    }

    /// The block that failed, and what it said.
    private var failure: String {
        let at = (try? text(of: "at")) ?? "the beginning"
        let errors = (try? text(of: "err")) ?? ""
        let last =
            (try? FileManager.default.contentsOfDirectory(atPath: state))?
            .filter { $0.hasSuffix(".err") }.compactMap { try? text(of: $0) } ?? []
        return "\(at)failed: \(errors)\n\(last.joined(separator: "\n"))"
    }

    /// Ends the nodes of a bash that was killed itself.
    private func endNodes() {
        let nodes = (try? FileManager.default.contentsOfDirectory(atPath: "\(state)/nodes")) ?? []
        for pid in nodes.compactMap({ Int32($0) }) {
            let command = try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)
            // Another process may have the number by now.
            if command?.contains("cumulusd") ?? true { kill(pid, SIGKILL) }
        }
    }

    // MARK: Ports and files

    private func withFreePorts(_ text: String) -> String {
        ports.reduce(text) { $0.replacing(":\($1.key)", with: ":\($1.value)") }
    }

    private func withNamedPorts(_ text: String) -> String {
        ports.reduce(text) { $0.replacing(":\($1.value)", with: ":\($1.key)") }
    }

    private func write(_ text: String, to name: String) throws {
        let file = "\(state)/\(name)"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
    }

    private func text(of name: String) throws -> String {
        try String(contentsOfFile: "\(state)/\(name)", encoding: .utf8)
    }
}
