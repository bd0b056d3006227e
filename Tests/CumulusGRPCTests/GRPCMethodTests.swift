// The paths of gRPC are as in `proto/services.proto`, from which callers generate their code, and
// their messages as in `proto/methods.md`.

import CumulusNode
import CumulusTesting
import CumulusWire
import GRPCCore
import Testing

@testable import CumulusGRPC

@Suite struct GRPCMethodTests {
    /// A method as a file or a table states it.
    private struct Line: Hashable {
        var path: String
        var request: String
        var response: String
        var form: GRPCMethod.Form
    }

    private static func services() throws -> [Line] {
        var lines: [Line] = []
        var service = ""
        for line in try Golden.text("services.proto").split(separator: "\n") {
            if let match = line.prefixMatch(of: /service (\w+) \{/) {
                service = String(match.output.1)
            }
            let rpc = /\s+rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\);/
            guard let match = line.wholeMatch(of: rpc)?.output else { continue }
            lines.append(
                Line(
                    path: "\(service)/\(match.1)",
                    request: String(match.3),
                    response: String(match.5),
                    form: match.2 != nil ? .upload : match.4 != nil ? .parts : .whole
                )
            )
        }
        return lines
    }

    @Test func thePathsAreThoseOfTheFile() throws {
        let stated = try Self.services().map { "\($0.path) \($0.form)" }
        let served = GRPCMethod.all.map {
            "\($0.descriptor.service.service)/\($0.descriptor.method) \($0.form)"
        }
        #expect(Set(stated) == Set(served))
        #expect(stated.count == served.count)
        #expect(GRPCMethod.all.allSatisfy { $0.descriptor.service.package == "cumulus.v1" })
    }

    @Test func eachServiceHasMethods() throws {
        let used = Set(GRPCMethod.all.map(\.descriptor.service.service))
        #expect(used == Set(GRPCMethod.services.map(\.value)))
    }

    @Test func theMessagesAreThoseOfTheProtocol() throws {
        let row = /\| (\d+) \| `[A-Z_]+` \| `(\w+)Request`/
        let page = try Golden.text("methods.md")
        let rows = page.matches(of: row).map(\.output)
        // Below the table stand the answers of other names.
        let other = try #require(page.firstMatch(of: /`(FollowFeed)Request` `(\w+)`/)).output
        let stated = Dictionary(
            uniqueKeysWithValues: try Self.services().map { ($0.path, $0) }
        )
        for method in GRPCMethod.all {
            let path = "\(method.descriptor.service.service)/\(method.descriptor.method)"
            let line = try #require(stated[path])
            let known = try #require(rows.first { $0.1 == "\(method.method.rawValue)" })
            let request = method.form == .upload ? "UploadPart" : "\(known.2)Request"
            let response = known.2 == other.1 ? String(other.2) : "\(known.2)Response"
            #expect(line.request == request, "\(path)")
            #expect(line.response == response, "\(path)")
        }
    }

    @Test func methodsBetweenNodesAreNotServed() {
        let served = Set(GRPCMethod.all.map(\.method))
        let others = Method.allCases.filter { !served.contains($0) }
        #expect(others.allSatisfy { "\($0)".hasPrefix("peers") } && others.count == 5)
    }

    @Test func whatNeedsWhatIsTheNodesWord() throws {
        let modify = try #require(GRPCMethod.all.first { $0.method == .recordsModify })
        #expect(modify.needsRequestID && !modify.isForOperators && modify.form == .whole)
        let status = try #require(GRPCMethod.all.first { $0.method == .operatorStatus })
        #expect(!status.needsRequestID && status.isForOperators)
    }
}
