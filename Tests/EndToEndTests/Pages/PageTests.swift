// The code on pages does what the pages say: shell blocks run in their order in an empty folder,
// Swift blocks compile, and answers are those that are shown.
//
// A page takes some seconds: it starts nodes and a compiler.

import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct PageTests {
    /// The pages that hold to this.
    static let paths = [
        "README.md",
        "Sources/Cumulus/Cumulus.docc/FirstApp.md",
        "Sources/Cumulus/Cumulus.docc/ForSwiftApps.md",
        "Sources/CumulusCloudKit/CumulusCloudKit.docc/CumulusCloudKit.md",
        "Sources/CumulusGateway/CumulusGateway.docc/ForTheWeb.md",
        "Sources/CumulusGateway/CumulusGateway.docc/Monitoring.md",
        "Sources/CumulusGateway/CumulusGateway.docc/Pushes.md",
        "Sources/CumulusGateway/CumulusGateway.docc/Webhooks.md",
        "Sources/CumulusNode/CumulusNode.docc/Access.md",
        "Sources/CumulusNode/CumulusNode.docc/AuditLog.md",
        "Sources/CumulusNode/CumulusNode.docc/Feeds.md",
        "Sources/CumulusNode/CumulusNode.docc/Sharing.md",
        "Sources/CumulusNode/CumulusNode.docc/SigningIn.md",
        "Sources/CumulusNode/CumulusNode.docc/Tour.md",
        "cluster/README.md",
    ]

    /// The blocks that nobody runs here, in the order of each page.
    ///
    /// A block that joins them is entered here, and one that is forgotten makes the test fail.
    private static let marked: [String: [Page.Mark]] = [
        "Sources/Cumulus/Cumulus.docc/FirstApp.md": [.takesMinutes],
        "Sources/Cumulus/Cumulus.docc/ForSwiftApps.md": [.needsGitHub],
        "Sources/CumulusGateway/CumulusGateway.docc/ForTheWeb.md": [.needsCloudKitJS],
        "Sources/CumulusGateway/CumulusGateway.docc/Monitoring.md": [.needsPrometheus],
        "Sources/CumulusGateway/CumulusGateway.docc/Webhooks.md": [.needsEndpoint, .needsEndpoint],
        "Sources/CumulusNode/CumulusNode.docc/SigningIn.md": [.needsProvider],
        "cluster/README.md": [.takesMinutes, .needsPodman],
    ]

    @Test(arguments: paths) func whatIsNotRunIsListed(_ path: String) throws {
        let page = try Page(path)
        #expect(!page.blocks.isEmpty, "\(path) shows no code")
        let marked = page.blocks.filter { $0.comment != nil }
        for block in marked {
            #expect(block.mark != nil, "\(page.place(of: block)): \(block.comment ?? "")")
            print("not run: \(page.place(of: block)) \(block.comment ?? "")")
        }
        #expect(marked.compactMap(\.mark) == Self.marked[path, default: []], "\(path)")
        let known: Set = ["shell", "json", "text", "swift"]
        for block in page.blocks where block.comment == nil {
            #expect(known.contains(block.language), "\(page.place(of: block))")
        }
    }

    @Test(arguments: paths) func itsCommandsRun(_ path: String) async throws {
        let page = try Page(path)
        let outputs = try await ShellPage(page).run()
        for (output, answer) in answers(page, outputs) {
            let place = page.place(of: answer)
            if answer.language == "json" {
                let shown = try PageAnswer(json: answer.text)
                #expect(try PageAnswer(json: output) == shown, "\(place): \(output)")
            } else {
                let shown = PageAnswer(text: answer.text)
                #expect(PageAnswer(text: output) == shown, "\(place): \(output)")
            }
        }
    }

    /// A block of output belongs to the block before it.
    private func answers(
        _ page: Page,
        _ outputs: [ShellPage.Output]
    ) -> [(output: String, answer: Page.Block)] {
        zip(page.blocks, page.blocks.dropFirst()).compactMap { block, next in
            guard ["json", "text"].contains(next.language), next.mark == nil else { return nil }
            let output = outputs.first { $0.block.line == block.line }
            if output == nil {
                Issue.record("\(page.place(of: next)) answers no block that is run")
            }
            return output.map { ($0.text, next) }
        }
    }

    #if os(Linux)
        @Test(arguments: paths) func itsSwiftCompiles(_ path: String) async throws {
            let page = try SwiftPage(try Page(path))
            for module in try page.modules() {
                let complaint = try await page.complaint(of: module)
                #expect(complaint == "", "\(path), \(module.name)")
            }
        }
    #endif

    @Test func manifestsAreRead() async throws {
        var manifests: [Page.Block] = []
        var pieces: [Page.Block] = []
        for path in Self.paths {
            let page = try SwiftPage(try Page(path))
            manifests += page.manifests
            pieces += page.pieces
            for manifest in page.manifests {
                let dump = try await page.evaluate(manifest)
                #expect(dump.contains("\"cumulus\""), "\(path):\(manifest.line)")
            }
        }
        #expect(!manifests.isEmpty && !pieces.isEmpty)
        for piece in pieces {
            let isShown = manifests.contains { manifest in
                Self.contains(manifest.lines, piece.lines)
            }
            #expect(isShown, "line \(piece.line) is in no manifest: \(piece.text)")
        }
    }

    /// Whether lines stand one after the other among others, whatever they are indented by.
    private static func contains(_ lines: [Substring], _ piece: [Substring]) -> Bool {
        func bare(_ line: Substring) -> String {
            line.trimmingCharacters(in: CharacterSet.whitespaces.union([","]))
        }
        let (lines, piece) = (lines.map(bare), piece.map(bare))
        return lines.indices.contains { lines[$0...].starts(with: piece) }
    }

    // MARK: The test itself

    /// A comparison notices all but what differs from one machine to the next.
    @Test func aWrongAnswerIsNoticed() throws {
        let tag = #""recordChangeTag": "a9151ebf558f9d6d", "#
        let shown = try PageAnswer(json: "{\(tag)\"stars\": 4, \"made\": 1795986522653}")
        let other = #""recordChangeTag": "4f6e3cfc869a11f4", "#
        #expect(try PageAnswer(json: "{\(other)\"stars\": 4, \"made\": 1795986522794}") == shown)
        for wrong in [
            "{\(other)\"stars\": 5, \"made\": 1795986522794}",
            "{\(other)\"stars\": 4, \"made\": 17}",
            "{\"recordChangeTag\": \"4f6e\", \"stars\": 4, \"made\": 1795986522794}",
            "{\"stars\": 4, \"made\": 1795986522794}",
        ] {
            #expect(try PageAnswer(json: wrong) != shown, "\(wrong)")
        }
        let table = PageAnswer(text: "NAME   TYPE\noslo  City\n")
        #expect(PageAnswer(text: "NAME TYPE\noslo City") == table)
        #expect(PageAnswer(text: "NAME TYPE\nlagos City") != table)
    }

    /// A page whose second command fails, and whose Swift does not compile.
    @Test func aWrongPageIsNoticed() async throws {
        let page = Page(
            "Wrong.md",
            text: """
                ```shell
                cumulusd --listen 127.0.0.1:7420 \\
                    --data a &
                ```
                ```text
                ```
                <!-- not run: needs GitHub -->
                ```shell
                exit 1
                ```
                ```shell
                cumulus record get nothing --database public
                ```
                ```swift
                import Cumulus
                let container: Container = "none"
                ```

                """
        )
        #expect(page.blocks.map(\.language) == ["shell", "text", "shell", "shell", "swift"])
        #expect(page.blocks.compactMap(\.mark) == [.needsGitHub])
        #expect(ShellPage.nodes(startedBy: page.blocks[0].text) == 1)
        #expect(ShellPage.nodes(startedBy: "cat >a <<'EOF'\ncumulusd &\nEOF\ncumulusd &\n") == 1)
        let failure = await #expect(throws: ChildProcess.Failure.self) {
            try await ShellPage(page).run()
        }
        #expect(failure?.description.contains("Wrong.md:11") == true, "\(failure as Any)")
        #if os(Linux)
            let swift = try SwiftPage(page)
            let module = try #require(try swift.modules().first)
            #expect(try await swift.complaint(of: module).contains("Container"))
        #endif
    }
}
