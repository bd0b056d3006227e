// A query without the index that it needs: what is refused, and how all records of a type are
// found without one.

import ArgumentParser
import Cumulus
import CumulusModel
import Testing

@testable import CumulusCLI

@Suite struct MissingIndexTests {
    private func missing(_ message: String) -> MissingIndex? {
        MissingIndex(ServiceError(.invalidArguments, .invalidValue, message))
    }

    @Test func aRefusalNamesTheIndex() throws {
        let names = try #require(
            missing(
                "Field 'recordName' is not marked queryable; add QUERYABLE to '___recordID' of "
                    + "type City in the schema"
            )
        )
        #expect(names.isOfAllRecords)
        #expect(
            names.command(container: nil) == "cumulus index add City ___recordID --kind queryable"
        )
        let people = try #require(
            missing(
                "Field 'p' is not marked sortable; add SORTABLE to 'p' of type City in the schema"
            )
        )
        #expect(!people.isOfAllRecords)
        #expect(
            people.command(container: "iCloud.a")
                == "cumulus index add City p --kind sortable --container iCloud.a"
        )
        #expect(people.advice(container: nil, .production).contains("'cumulus schema deploy"))
        #expect(!people.advice(container: nil, .development).contains("deploy"))
        let none = try #require(
            missing("Type is not marked indexable: Plain; add an index to one of its fields")
        )
        #expect(none.isOfAllRecords)
        #expect(none.command(container: nil) == "cumulus index add Plain FIELD --kind queryable")
        let words = try #require(
            missing("Type Note has no field that is marked searchable; add SEARCHABLE to a field")
        )
        #expect(!words.isOfAllRecords && words.kind == "searchable")
    }

    /// A node names the index of all records first, of which the user knows nothing.
    @Test(arguments: [
        "Field 'recordName' is not marked queryable; add QUERYABLE to '___recordID' of type City "
            + "in the schema",
        "Type is not marked indexable: City; add an index to one of its fields in the schema",
    ]) func anOrderOfAllRecordsNamesItsKeys(refusal: String) throws {
        let error = ServiceError(.invalidArguments, .invalidValue, refusal)
        let command = try Main.parseAsRoot(["query", "City", "--sort", "-size"])
        let scope = try #require(command as? QueryCommand).connection.user.scope
        let told = try #require(
            try MissingIndex.advised(error, by: scope, order: ["size"]) as? ServiceError
        )
        #expect(told.code == .invalidArguments)
        #expect(told.message.contains("by 'size'"), "\(told.message)")
        #expect(told.message.contains("'cumulus index add City ___recordID --kind queryable'"))
        #expect(told.message.hasSuffix("'cumulus index add City size --kind sortable'"))
        #expect(!told.message.contains("FIELD") && !told.message.contains("recordName"))
        // Without an order the node's words stay.
        let plain = try #require(try MissingIndex.advised(error, by: scope) as? ServiceError)
        #expect(plain.message.hasPrefix(refusal))
    }

    @Test func otherErrorsNameNone() {
        #expect(missing("Unknown field 'nothing'") == nil)
        let message = "Type is not marked indexable: Plain; add an index"
        #expect(MissingIndex(ServiceError(.unknownItem, message)) == nil)
    }

    // MARK: Without one

    private static func zone(_ types: String) -> AsyncStream<Record> {
        AsyncStream { continuation in
            for (place, type) in types.enumerated() {
                let id = Record.ID(recordName: "\(place)")
                continuation.yield(Record(recordType: String(type), recordID: id))
            }
            continuation.finish()
        }
    }

    @Test(
        arguments: [
            (["abab", "", "b"], nil, nil, "1 3 0", .complete),
            (["abab", "", "b"], 3, nil, "1 3 0", .complete),
            (["abab", "b"], 2, nil, "1 3", .more), (["aaaa"], 2, nil, "", .complete),
            (["abab", "b"], nil, 3, "1", .cut), (["abab", "b"], 1, 4, "1", .more),
            (["ab", "ab"], 5, 3, "1", .cut), ([], 5, 3, "", .complete),
        ] as [([String], Int?, Int?, String, TypeScan.End)]
    )
    func aScanShowsWhatIsOfTheType(
        zones: [String],
        limit: Int?,
        looks: Int?,
        names: String,
        end: TypeScan.End
    ) async throws {
        let scan = TypeScan(recordType: "b", limit: limit, looks: looks)
        var found: [String] = []
        let ended = try await scan.run(through: zones.map(Self.zone)) {
            found.append($0.recordID.recordName)
        }
        #expect(ended == end)
        #expect(found.joined(separator: " ") == names)
    }
}
