// Holds the node's table of methods to the protocol: the numbers of `proto/connection.proto`, and
// the table that `proto/methods.md` shows to authors of clients, both ways.

import CumulusTesting
import CumulusWire
import Foundation
import Testing

@testable import CumulusNode

@Suite struct MethodTableTests {
    @Test func everyMethodHasOneEntry() {
        #expect(
            MethodTable.entries.map(\.method.rawValue) == Method.allCases.map(\.rawValue).sorted()
        )
        for method in Method.allCases {
            #expect(MethodTable.entry(method.rawValue)?.method == method)
        }
        #expect(MethodTable.entry(0)?.method == nil)
        #expect(MethodTable.entry(.max)?.method == nil)
    }

    @Test func theProtocolHasTheSameMethods() throws {
        let text = try String(contentsOf: Checkout.file("proto/connection.proto"), encoding: .utf8)
        let body = try #require(text.firstMatch(of: /enum Method \{([^}]*)\}/)).output.1
        let stated = body.matches(of: /(\w+) = (\d+);/).map {
            Line(number: String($0.output.2), name: String($0.output.1))
        }
        let ours = MethodTable.entries.map { Line(of: $0) }
        #expect(stated.filter { $0.number != "0" } == ours)
    }

    @Test func thePageShowsTheSameTable() throws {
        let text = try String(contentsOf: Checkout.file("proto/methods.md"), encoding: .utf8)
        let rows = text.split(separator: "\n").drop { !$0.hasPrefix("| 1 |") }
            .prefix { $0.hasPrefix("|") }
        let shown = rows.map { row in
            row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(shown.map(\.count).allSatisfy { $0 == 5 })
        #expect(
            shown.map { [$0[0], $0[1], $0[3], $0[4]] }
                == MethodTable.entries.map { entry in
                    let line = Line(of: entry)
                    return [line.number, "`\(line.name)`", entry.answerText, entry.needsText]
                }
        )
    }
}

/// A method as the contract writes it.
private struct Line: Equatable {
    var number: String
    var name: String
}

extension Line {
    /// `recordsFetch` is RECORDS_FETCH.
    init(of entry: MethodEntry) {
        number = "\(entry.method.rawValue)"
        name = "\(entry.method)".map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }
}

extension MethodEntry {
    fileprivate var answerText: String {
        switch answer {
        case .message: ""
        case .parts: "parts"
        case .endlessParts: "parts, without an end"
        }
    }

    fileprivate var needsText: String {
        let words: [(Needs, String)] = [
            (.requestID, "request id"), (.token, "token"), (.operator, "operator"),
            (.peer, "peer"), (.credit, "credit"),
        ]
        return words.filter { needs.contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
