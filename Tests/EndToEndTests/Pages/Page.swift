// A page of the documentation, as the blocks of code on it.
//
// Made by `PageTests`. A block is what stands between two fences. A comment in the line before the
// first fence says why a block is not run: `<!-- not run: needs GitHub -->`.
//
// Folder: the code that pages show, run in the order of the page. Read `Page`, `ShellPage`,
// `PageAnswer`, `SwiftPage`, then `PageTests`.

import CumulusTesting
import Foundation

struct Page: Sendable {
    /// A reason not to run a block.
    ///
    /// A word of the comment before it; `PageTests` lists the blocks of each.
    enum Mark: String, Sendable {
        /// Apple's library, which is no part of this project.
        case needsCloudKitJS = "needs CloudKit JS"
        /// A server that nodes tell of changes.
        case needsEndpoint = "needs an endpoint"
        case needsGitHub = "needs GitHub"
        /// An engine; `cluster/installs` runs the image without one in the long form.
        case needsPodman = "needs podman"
        /// Its server, which is told where nodes are.
        case needsPrometheus = "needs Prometheus"
        /// An identity provider; `cluster/oidc` fetches the keys of one.
        case needsProvider = "needs a provider"
        /// A build: that of an app, which `cluster/client` makes in the long form, or `cluster/up`.
        case takesMinutes = "takes minutes"
    }

    struct Block: Sendable {
        /// The word behind the fence, such as `shell`; empty if there is none.
        var language: String
        var text = ""
        /// The number of the fence's line.
        var line: Int
        /// What the comment before it says; nil: there is none.
        var comment: String?

        var mark: Mark? { comment.flatMap { Mark(rawValue: $0) } }

        var lines: [Substring] {
            text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        }
    }

    /// Relative to the root of the tree.
    let path: String
    private(set) var blocks: [Block] = []

    init(_ path: String) throws {
        self.init(path, text: try String(contentsOf: Checkout.file(path), encoding: .utf8))
    }

    init(_ path: String, text: String) {
        self.path = path
        read(text.split(separator: "\n", omittingEmptySubsequences: false))
    }

    private mutating func read(_ lines: [Substring]) {
        var open: Block?
        var comment: String?
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("```") {
                if let block = open {
                    blocks.append(block)
                    open = nil
                } else {
                    let language = String(line.dropFirst(3))
                    open = Block(language: language, line: index + 1, comment: comment)
                }
                comment = nil
            } else if open != nil {
                open?.text += line + "\n"
            } else if !line.isEmpty {
                comment = line.wholeMatch(of: /<!-- not run: (.*) -->/).map { String($0.output.1) }
            }
        }
    }

    /// Where a block stands, for messages.
    func place(of block: Block) -> String { "\(path):\(block.line)" }
}
