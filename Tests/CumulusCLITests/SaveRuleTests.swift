// What `cumulus record save` may overwrite, and what a refusal says.

import ArgumentParser
import Cumulus
import CumulusModel
import Testing

@testable import CumulusCLI

@Suite struct SaveRuleTests {
    private func save(_ words: [String]) throws -> RecordCommand.Save {
        let command = try Main.parseAsRoot(["record", "save", "T", "n"] + words)
        return try #require(command as? RecordCommand.Save)
    }

    @Test(
        arguments: [
            ([], .ifServerRecordUnchanged), (["--field", "a=1"], .ifServerRecordUnchanged),
            (["--tag", "0a"], .ifServerRecordUnchanged), (["--force"], .changedKeys),
            (["--increment", "a=1"], .changedKeys),
            (["--increment", "a=1", "--field", "b=1"], .ifServerRecordUnchanged),
            (["--increment", "a=1", "--parent", "p"], .ifServerRecordUnchanged),
            (["--increment", "a=1", "--tag", "0a"], .ifServerRecordUnchanged),
        ] as [([String], RecordSavePolicy)]
    )
    func aSaveOverwritesNothingUnseen(words: [String], policy: RecordSavePolicy) throws {
        let command = try save(words)
        #expect(try command.policy(for: command.record()) == policy)
    }

    @Test(arguments: [["--tag", "x"], ["--tag", ""], ["--tag", "0a", "--force"]])
    func rulesThatCanNotBe(words: [String]) {
        #expect(throws: (any Error).self) { try save(words) }
    }

    @Test func aRefusalNamesTheCommandsThatGoOn() throws {
        var error = ServiceError(.serverRecordChanged, .recordExists, "record to insert exists")
        var record = Record(recordType: "T", recordID: Record.ID(recordName: "n"))
        record.recordChangeTag = "0b1c"
        error.serverRecord = record
        let new = try save(["--zone", "Z"])
        let told = try #require(new.rule.advised(error, get: new.get) as? ServiceError)
        #expect(told.code == .serverRecordChanged && told.reason == .recordExists)
        #expect(told.message.hasPrefix("there is such a record already: "))
        #expect(told.message.contains("'cumulus record get n --zone Z'"))
        #expect(told.message.contains("--tag 0b1c") && told.message.contains("--force"))
        let old = try save(["--tag", "0a", "--database", "shared", "--owner", "o"])
        let changed = try #require(old.rule.advised(error, get: old.get) as? ServiceError)
        #expect(changed.message.hasPrefix("the record has changed since that tag: "))
        #expect(changed.message.contains("get n --database shared --owner o'"))
        let gone = ServiceError(.unknownItem, "Record not found: it was deleted since")
        #expect("\(old.rule.advised(gone, get: old.get))".contains("leave out --tag"))
        // It may be a name that never was.
        #expect(!"\(old.rule.advised(gone, get: old.get))".contains("deleted"))
        #expect(!"\(new.rule.advised(gone, get: new.get))".contains("--tag"))
    }
}
