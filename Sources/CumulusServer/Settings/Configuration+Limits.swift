// The limits that a node keeps, and how long it keeps what may be forgotten.
//
// `Wiring` asks it before anything is made on the disk. The limits of one caller are a setting of
// their own; the other limits are parts of `limits`.

import CumulusModel
import CumulusNode
import CumulusSystem
import RocksDBStorage

/// A limit that `--limits` changes.
struct AdjustableLimit: Sendable {
    let name: String
    let most: Int
    let read: @Sendable (Limits) -> Int
    let write: @Sendable (inout Limits, Int) -> Void

    /// HELLO tells the first ones with 32 bits, the others with 64 or not at all.
    static let all =
        limits(
            upTo: Int(UInt32.max),
            [
                "itemsPerRequest": \.itemsPerRequest, "requestBytes": \.requestBytes,
                "recordBytes": \.recordBytes, "fieldsPerType": \.fieldsPerType,
                "typesPerSchema": \.typesPerSchema, "fieldsPerSchema": \.fieldsPerSchema,
                "schemaBytes": \.schemaBytes, "typesPerCaller": \.perCallerGrowth.types,
                "fieldsPerCaller": \.perCallerGrowth.fields, "zonesPerDatabase": \.zonesPerDatabase,
                "subscriptionsPerDatabase": \.subscriptionsPerDatabase,
                "subscriptionBytes": \.subscriptionBytes,
                "subscriptionBytesPerDatabase": \.subscriptionBytesPerDatabase,
                "subscriptionSearchesPerDatabase": \.subscriptionSearchesPerDatabase,
                "subscriptionComparisonsPerDatabase": \.subscriptionComparisonsPerDatabase,
                "subscriptionComparisonsPerType": \.subscriptionComparisonsPerType,
                "notificationBytes": \.notificationBytes, "assetsPerRequest": \.assetsPerRequest,
                "streamsPerConnection": \.streamsPerConnection,
                "unansweredBytes": \.unansweredBytes,
            ]
        )
        + limits(
            upTo: Configuration.largest,
            [
                "assetBytes": \.assetBytes, "userAssetBytes": \.userAssetBytes,
                "privateDatabaseBytes": \.privateDatabaseBytes,
                "publicDatabaseBytes": \.publicDatabaseBytes,
                "nodeUnansweredBytes": \.nodeUnansweredBytes,
                "offeredStateBytes": \.offeredStateBytes, "queuedWrites": \.queuedWrites,
                "writesPerBatch": \.writesPerBatch,
                "storedBytesPerRequest": \.storedBytesPerRequest,
            ]
        )
        // A week, so that sums of times stay within their type.
        + limits(
            upTo: 7 * 86_400_000,
            [
                "assetGraceMilliseconds": \.assetGraceMilliseconds,
                "greetingMilliseconds": \.greetingMilliseconds,
                "idleMilliseconds": \.idleMilliseconds, "frameMilliseconds": \.frameMilliseconds,
                "stalledWriteMilliseconds": \.stalledWriteMilliseconds,
                "crowdedWriteMilliseconds": \.crowdedWriteMilliseconds,
                "callMilliseconds": \.callMilliseconds,
                "stalledStateMilliseconds": \.stalledStateMilliseconds,
            ]
        )

    private static func limits<Number: FixedWidthInteger & Sendable>(
        upTo most: Int,
        _ paths: KeyValuePairs<String, any WritableKeyPath<Limits, Number> & Sendable>
    ) -> [AdjustableLimit] {
        paths.map { name, path in
            AdjustableLimit(
                name: name,
                most: most,
                read: { Int($0[keyPath: path]) },
                write: { $0[keyPath: path] = Number($1) }
            )
        }
    }
}

extension Configuration {
    /// Sums of sizes up to this stay within their type.
    static let largest = 1 << 40

    func limits() throws -> Limits {
        var limits = Limits.standard
        limits.perCallerGrowth = .standard
        // A small machine has room for little that nobody takes.
        if try self[\.engine.profile] == .small {
            limits.nodeUnansweredBytes /= 2
            limits.offeredStateBytes /= 4
        }
        for part in self[\.callers.others].split(separator: ",") {
            let (limit, number) = try Configuration.limit(of: part)
            limit.write(&limits, number)
        }
        if let contradiction = limits.contradiction {
            throw StartProblem(\.callers.others, contradiction)
        }
        limits.perCaller = try callerLimits()
        return limits
    }

    /// Parses a part such as `itemsPerRequest=10`.
    private static func limit(of part: Substring) throws(StartProblem) -> (AdjustableLimit, Int) {
        let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
        guard pair.count == 2, let number = Int(pair[1]), number > 0 else {
            throw StartProblem(\.callers.others, "'\(part)' is not of the form name=number")
        }
        guard let limit = AdjustableLimit.all.first(where: { $0.name == pair[0] }) else {
            let known = AdjustableLimit.all.map(\.name).sorted().joined(separator: ", ")
            throw StartProblem(\.callers.others, "'\(pair[0])' can't be set; known are \(known)")
        }
        guard number <= limit.most else {
            throw StartProblem(
                \.callers.others,
                "\(limit.name) can't be as much as \(number), only \(limit.most)"
            )
        }
        return (limit, number)
    }

    /// The greatest age of other members' reports, in milliseconds; 0 means any age.
    func accessLease() throws -> Int64 {
        let seconds = try self[\.users.lease]
        guard seconds == 0 || seconds >= Configuration.shortestLease else {
            throw StartProblem(
                \.users.lease,
                """
                \(seconds) seconds are too few for reports to come in time; set \
                \(Configuration.shortestLease) or more, or 0 for none
                """
            )
        }
        return Int64(seconds) * 1_000
    }

    /// Nodes report three times as often.
    static let shortestLease = 3

    /// The limits of one caller per time.
    private func callerLimits() throws -> CallerLimits {
        let limits = CallerLimits(
            callsPerSecond: try self[\.callers.callsPerSecond],
            callsBurst: try self[\.callers.callsBurst],
            bytesPerSecond: try self[\.callers.bytesPerSecond],
            callsAtOnce: try self[\.callers.callsAtOnce]
        )
        guard limits.callsPerSecond == 0 || limits.callsBurst > 0 else {
            throw StartProblem(
                \.callers.callsBurst,
                """
                with 0 no call could ever begin; set 1 or more, or calls-per-second to 0 for no \
                limit
                """
            )
        }
        let least = Configuration.leastBytesPerSecond
        guard limits.bytesPerSecond == 0 || limits.bytesPerSecond >= least else {
            throw StartProblem(
                \.callers.bytesPerSecond,
                """
                \(limits.bytesPerSecond) are too few: a request may have \
                \(Limits.standard.requestBytes) bytes; set \(least) or more, or 0 for no limit
                """
            )
        }
        return limits
    }

    /// The largest request has to go through within seconds, and an upload before its time is up.
    static let leastBytesPerSecond = 1 << 20

    /// The prefix of URLs of shares, without a slash at its end.
    func shareURL() throws -> String {
        var url = self[\.users.shareURL]
        while url.hasSuffix("/") { url.removeLast() }
        guard (1...200).contains(url.utf8.count), url.utf8.contains(UInt8(ascii: ":")),
            url.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }),
            !url.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
        else {
            throw StartProblem(
                \.users.shareURL,
                """
                '\(self[\.users.shareURL])' is not the beginning of a URL; write something like \
                https://notes.example.com or notes:
                """
            )
        }
        return url
    }

    // MARK: What is forgotten

    func schedule() throws -> Collector.Schedule {
        let (days, seconds) = (try self[\.engine.days], try self[\.engine.logSeconds])
        guard seconds <= days * 86_400 else {
            throw StartProblem(\.engine.logSeconds, "that is longer than retention-days")
        }
        var schedule = Collector.Schedule()
        schedule.retentionMilliseconds = Int64(days) * 86_400_000
        schedule.feedMilliseconds = Int64(try self[\.engine.feedDays]) * 86_400_000
        schedule.keepMilliseconds = Int64(seconds) * 1_000
        schedule.logBytes =
            try self[\.engine.logMegabytes].map { UInt64($0) << 20 }
            ?? Collector.Schedule.logBytes(
                onFileSystemOf: Files.fileSystemBytes(of: self[\.node.data])
            )
        schedule.logMilliseconds = min(max(1_000, schedule.keepMilliseconds / 2), 30_000)
        let grace = try limits().assetGraceMilliseconds
        schedule.assetMilliseconds = min(max(1_000, grace / 10), schedule.assetMilliseconds)
        schedule.logMilliseconds = min(schedule.logMilliseconds, schedule.assetMilliseconds)
        return schedule
    }
}
