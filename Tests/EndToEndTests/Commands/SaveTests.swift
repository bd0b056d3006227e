// `cumulus record save` with a real node: nothing is overwritten unseen, and texts become values of
// the types that fields have.

import CumulusModel
import CumulusTesting
import CumulusTransfer
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct SaveTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    /// A node, and a way to run commands as a user of it.
    private func start() async throws -> (NodeProcess, [String: String]) {
        let node = try await NodeProcess.ready(data: folder.node)
        let token = try await node.makeToken()
        return (node, ["CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": token])
    }

    /// Runs a command that has to succeed; returns what it shows.
    private func saved(_ words: [String], _ variables: [String: String]) async throws -> JSON {
        let run = try await CommandLineRun(words + ["--json"], variables: variables)
        try #require(run.code == 0, "\(run.errors)")
        return try JSONReader.read(run.output.utf8)
    }

    @Test func nothingIsOverwrittenUnseen() async throws {
        let (node, variables) = try await start()
        defer { withExtendedLifetime(node) {} }
        let save = ["record", "save", "Note", "tea"]
        let first = try await saved(save + ["--field", "title=Tea", "--field", "n=1"], variables)
        let tag = first.text("recordChangeTag")

        let again = save + ["--field", "title=Coffee"]
        let refused = try await CommandLineRun(again, variables: variables)
        #expect(refused.code == 1 && refused.errors.contains("(serverRecordChanged 14,"))
        #expect(refused.errors.contains("'cumulus record get tea'"), "\(refused.errors)")
        #expect(refused.errors.contains("--tag \(tag)") && refused.errors.contains("--force"))
        let second = try await saved(again + ["--tag", tag], variables)
        #expect(second["fields"]?["title"] == .string("Coffee"))
        // The tag names what was there before.
        let late = try await CommandLineRun(again + ["--tag", tag], variables: variables)
        #expect(late.code == 1 && late.errors.contains("has changed since that tag"))
        let forced = try await saved(save + ["--field", "title=Water", "--force"], variables)
        #expect(forced["fields"]?["title"] == .string("Water"))

        // A sum overwrites nothing.
        _ = try await saved(save + ["--increment", "n=2"], variables)
        let run = try await CommandLineRun(["record", "get", "tea"], variables: variables)
        #expect(run.output.contains(/n +3/) && run.output.contains("Water"), "\(run.output)")
        _ = try await saved(["record", "save", "Note", "new", "--increment", "n=2"], variables)

        let delete = ["record", "delete", "tea"]
        #expect(try await CommandLineRun(delete, variables: variables).code == 0)
        let gone = try await CommandLineRun(again + ["--tag", tag], variables: variables)
        #expect(gone.code == 1 && gone.errors.contains("leave out --tag"), "\(gone.errors)")
        let never = ["record", "save", "Note", "never", "--field", "n=1", "--tag", tag]
        let misspelt = try await CommandLineRun(never, variables: variables)
        #expect(misspelt.code == 1 && misspelt.errors.contains("no such record"))
        #expect(!misspelt.errors.contains("deleted"), "\(misspelt.errors)")
    }

    @Test func aTextIsReadByTheTypeOfItsField() async throws {
        let (node, variables) = try await start()
        defer { withExtendedLifetime(node) {} }
        let save = ["record", "save", "Num", "a"]
        let json = ##"{"v": 1, "d": 0.5, "at": {"$date": 0}, "tags": ["x"], "zip": "a"}"##
        _ = try await saved(save + ["--json-fields", json], variables)
        let time = "2024-02-29T12:00:00.000Z"
        // From stars on they are new.
        let texts = [
            "v=3", "d=4", "at=\(time)", ##"tags=["a", "b"]"##, "zip=11122", "stars=7", "part=0.5",
            "code:string=7", "mass:double=7",
        ]
        let words = save + texts.flatMap { ["--field", $0] } + ["--force"]
        _ = try await saved(words, variables)
        guard case .array(let records) = try await saved(["record", "get", "a"], variables) else {
            Issue.record("'record get' shows no list")
            return
        }
        let fields = try #require(records.first?["fields"])
        let date: JSON = ["$date": .string(time)]
        #expect(fields["v"] == .integer(3) && fields["d"] == .decimal(4))
        #expect(fields["at"] == date && fields["zip"] == .string("11122"))
        #expect(fields["tags"] == .array([.string("a"), .string("b")]))
        #expect(fields["stars"] == .integer(7) && fields["part"] == .decimal(0.5))
        #expect(fields["code"] == .string("7") && fields["mass"] == .decimal(7))
        let wrong = try await CommandLineRun(
            save + ["--field", "v=x", "--force"],
            variables: variables
        )
        #expect(wrong.code == 65)
        #expect(wrong.errors.contains("--field v: 'x' is no INT64; write a whole number"))
        // A type that is named is meant.
        let other = try await CommandLineRun(
            save + ["--field", "v:string=3", "--force"],
            variables: variables
        )
        #expect(other.code == 1 && other.errors.contains("expected type INT64"), "\(other.errors)")
    }
}
