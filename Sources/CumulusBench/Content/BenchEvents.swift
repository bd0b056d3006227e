// The records that the path `feed` saves, and the subscriptions that tell of them.
//
// An event has a number and a level, so that a subscription can ask for one number and, of it, for
// a level at least; notifications carry its text, cut to 100 letters.

import Cumulus
import CumulusModel
import Synchronization

enum BenchEvents {
    /// The number of events that followers are told of.
    static let told = 1
    /// The number of events that no follower is told of.
    static let untold = 2
    /// The number of events that are saved while a device is away.
    static let missed = 3
    private static let type = "Event"

    /// - Parameter letters: Length of its text, which is nearly all of it.
    static func record(_ name: String, number: Int, letters: Int = 64) -> Record {
        var record = Record(recordType: type, recordID: Record.ID(recordName: name))
        record["number"] = .int64(Int64(number))
        record["level"] = .int64(100)
        record["text"] = .string(String(repeating: "t", count: letters))
        return record
    }

    /// A subscription to the events of a number.
    static func subscription(to number: Int) throws -> Subscription {
        try subscription("events-\(number)", where: "number == \(number)", keys: ["text"])
    }

    /// Topics of one number; an event matches all of its number.
    static let topicsPerNumber = 10

    /// One of many topics: the first ten are about the number 0, the next ten about 1.
    static func topic(_ index: Int) throws -> Subscription {
        let (number, level) = index.quotientAndRemainder(dividingBy: topicsPerNumber)
        let predicate = "number == \(number) AND level >= \(level)"
        return try subscription("topic-\(index)", where: predicate, keys: [])
    }

    private static func subscription(
        _ id: Subscription.ID,
        where format: String,
        keys: [String]
    ) throws -> Subscription {
        let predicate = try Query.Predicate(format: format)
        var info = Subscription.NotificationInfo()
        info.desiredKeys = keys
        return Subscription(
            id: id,
            kind: .query(recordType: type, predicate: predicate),
            notificationInfo: keys.isEmpty ? nil : info
        )
    }

    static func save(_ record: Record, in database: Database) async throws {
        try await database.save([record], .changedKeys)
    }
}

/// Names that no record had before: each save is an event of its own.
final class BenchNames: Sendable {
    private let count = Mutex(0)

    func next() -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return "event-\(number)"
    }
}
