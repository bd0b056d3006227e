// What the topics of a scope cost each save, while they come and go.

import CumulusModel
import CumulusStorage
import Testing

@Suite struct TopicIndexTests {
    private func topic(_ format: String, in database: DatabaseID = .public) throws -> Topic {
        Topic(
            database: database,
            zones: .all,
            recordType: "Note",
            predicate: try Query.Predicate(format: format)
        )
    }

    private func index(_ formats: String...) throws -> TopicIndex {
        var index = TopicIndex()
        for format in formats { index.enter(try topic(format)) }
        return index
    }

    @Test func comparisonsWithEveryRecordAreSummed() throws {
        #expect(TopicIndex().comparisonCount == 0)
        #expect(try index("a != 1 AND a != 2", "b > 1", "a == 1 OR b == 1").comparisonCount == 5)
        #expect(try index("NOT a == 1", "TRUEPREDICATE").comparisonCount == 2)
    }

    /// A record has one value of a field, but several in a list.
    @Test func ofOtherValuesTheMostCounts() throws {
        #expect(try index("a == 1 AND b > 1", "a == 2 AND b > 2").comparisonCount == 2)
        #expect(try index("a == 1 AND b > 1", "a == 1 AND b > 2").comparisonCount == 4)
        #expect(try index("a IN {1, 2}", "a == 2", "a == 3").comparisonCount == 2)
        #expect(try index("a == 1", "b == 1", "c > 1").comparisonCount == 3)
        #expect(try index("tags CONTAINS 'x'", "tags CONTAINS 'y'").comparisonCount == 2)
        // The field counts whose values have the fewest topics.
        let kinds = try (0..<5).map { try topic("kind == 'k' AND title == 't\($0)'") }
        var index = TopicIndex()
        for topic in kinds { index.enter(topic) }
        #expect(index.comparisonCount <= 4)
    }

    @Test func whatLeavesCostsNothing() throws {
        let topics = try [
            topic("a == 1 AND b > 1"), topic("a == 1 AND b > 2"), topic("a != 1"),
            topic("b == 'x' AND a == 1"),
            topic("a != 1", in: DatabaseID(kind: .private, owner: "_u")),
        ]
        var index = TopicIndex()
        for topic in topics + topics { index.enter(topic) }
        let count = index.comparisonCount
        #expect(count > 0)
        for topic in topics { index.leave(topic) }
        #expect(index.comparisonCount == count)
        for topic in topics.reversed() { index.leave(topic) }
        #expect(index.comparisonCount == 0 && index.isEmpty)
    }

    @Test func zonesAsAWholeCostNothing() {
        var index = TopicIndex()
        for type in [nil, "Note"] {
            index.enter(
                Topic(database: .public, zones: .custom, recordType: type, predicate: nil)
            )
        }
        #expect(index.comparisonCount == 1)
    }
}
