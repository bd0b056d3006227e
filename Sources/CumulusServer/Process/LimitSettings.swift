// The limits that a node keeps: those of each caller have settings of their own, the others are
// parts of `limits`. And how long it keeps what may be forgotten.
//
// Part of `Configuration`; asked when the node starts.

import CumulusModel
import CumulusNode
import CumulusSystem
import RocksDBStorage

extension Configuration {
    private var adjustable: [String: WritableKeyPath<Limits, Int>] {
        [
            "itemsPerRequest": \.itemsPerRequest,
            "requestBytes": \.requestBytes,
            "recordBytes": \.recordBytes,
            "fieldsPerType": \.fieldsPerType,
            "typesPerSchema": \.typesPerSchema,
            "fieldsPerSchema": \.fieldsPerSchema,
            "schemaBytes": \.schemaBytes,
            "typesPerCaller": \.perCallerGrowth.types,
            "fieldsPerCaller": \.perCallerGrowth.fields,
            "zonesPerDatabase": \.zonesPerDatabase,
            "subscriptionsPerDatabase": \.subscriptionsPerDatabase,
            "subscriptionBytes": \.subscriptionBytes,
            "subscriptionBytesPerDatabase": \.subscriptionBytesPerDatabase,
            "subscriptionSearchesPerDatabase": \.subscriptionSearchesPerDatabase,
            "subscriptionComparisonsPerDatabase": \.subscriptionComparisonsPerDatabase,
            "subscriptionComparisonsPerType": \.subscriptionComparisonsPerType,
            "notificationBytes": \.notificationBytes,
            "assetBytes": \.assetBytes,
            "userAssetBytes": \.userAssetBytes,
            "privateDatabaseBytes": \.privateDatabaseBytes,
            "publicDatabaseBytes": \.publicDatabaseBytes,
            "assetsPerRequest": \.assetsPerRequest,
            "streamsPerConnection": \.streamsPerConnection,
            "unansweredBytes": \.unansweredBytes,
            "nodeUnansweredBytes": \.nodeUnansweredBytes,
            "offeredStateBytes": \.offeredStateBytes,
            "queuedWrites": \.queuedWrites,
            "writesPerBatch": \.writesPerBatch,
        ]
    }

    private var adjustableTimes: [String: WritableKeyPath<Limits, Int64>] {
        [
            "assetGraceMilliseconds": \.assetGraceMilliseconds,
            "greetingMilliseconds": \.greetingMilliseconds,
            "idleMilliseconds": \.idleMilliseconds,
            "frameMilliseconds": \.frameMilliseconds,
            "stalledWriteMilliseconds": \.stalledWriteMilliseconds,
            "crowdedWriteMilliseconds": \.crowdedWriteMilliseconds,
            "callMilliseconds": \.callMilliseconds,
            "stalledStateMilliseconds": \.stalledStateMilliseconds,
        ]
    }

    /// Sums of times and sizes up to these stay within their types.
    private static let longest = 7 * 86_400_000
    static let largest = 1 << 40
    /// Limits that HELLO tells with 64 bits, or not at all; for others it has 32.
    private static let wide: Set = [
        "assetBytes", "userAssetBytes", "privateDatabaseBytes", "publicDatabaseBytes",
        "nodeUnansweredBytes", "offeredStateBytes", "queuedWrites",
        "writesPerBatch",
    ]

    private func most(_ name: String) -> Int {
        if adjustableTimes[name] != nil { return Configuration.longest }
        return Configuration.wide.contains(name) ? Configuration.largest : Int(UInt32.max)
    }

    func limits() throws -> Limits {
        var limits = Limits.standard
        limits.perCallerGrowth = .standard
        // A small machine has room for little that nobody takes.
        if try profile() == .small {
            limits.nodeUnansweredBytes /= 2
            limits.offeredStateBytes /= 4
        }
        for part in self["limits"].split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            guard pair.count == 2, let number = Int(pair[1]), number > 0 else {
                throw Problem(message: "limits: '\(part)' is not of the form name=number")
            }
            guard number <= most(pair[0]) else {
                throw Problem(
                    message: """
                        limits: \(pair[0]) can't be as much as \(number), only \(most(pair[0]))
                        """
                )
            }
            if let path = adjustable[pair[0]] {
                limits[keyPath: path] = number
            } else if let path = adjustableTimes[pair[0]] {
                limits[keyPath: path] = Int64(number)
            } else {
                let known = Array(adjustable.keys) + Array(adjustableTimes.keys)
                throw Problem(
                    message:
                        """
                        limits: '\(pair[0])' can't be set; known are \
                        \(known.sorted().joined(separator: ", "))
                        """
                )
            }
        }
        if let contradiction = limits.contradiction {
            throw Problem(message: "limits: \(contradiction)")
        }
        limits.perCaller = try callerLimits()
        return limits
    }

    /// The greatest age of other members' reports, in milliseconds; 0 means any age.
    func accessLease() throws -> Int64 {
        let seconds = try number("access-lease", in: 0...86_400)
        guard seconds == 0 || seconds >= Configuration.shortestLease else {
            throw Problem(
                message: """
                    access-lease: \(seconds) seconds are too few for reports to come in time; set \
                    \(Configuration.shortestLease) or more, or 0 for none
                    """
            )
        }
        return Int64(seconds) * 1_000
    }

    /// Nodes report three times as often.
    private static let shortestLease = 3

    /// What one caller may do in a time.
    private func callerLimits() throws -> CallerLimits {
        // Told with 32 bits, and a burst at this rate still fits into a bucket.
        let most = Int(UInt32.max)
        let limits = CallerLimits(
            callsPerSecond: try number("calls-per-second", in: 0...most),
            callsBurst: try number("calls-burst", in: 0...most),
            bytesPerSecond: try number("bytes-per-second", in: 0...Configuration.largest),
            callsAtOnce: try number("calls-at-once", in: 0...most)
        )
        guard limits.callsPerSecond == 0 || limits.callsBurst > 0 else {
            throw Problem(
                message: """
                    calls-burst: with 0 no call could ever begin; set 1 or more, or \
                    calls-per-second to 0 for no limit
                    """
            )
        }
        let least = Configuration.leastBytesPerSecond
        guard limits.bytesPerSecond == 0 || limits.bytesPerSecond >= least else {
            throw Problem(
                message: """
                    bytes-per-second: \(limits.bytesPerSecond) are too few: a request may have \
                    \(Limits.standard.requestBytes) bytes; set \(least) or more, or 0 for no limit
                    """
            )
        }
        return limits
    }

    /// The largest request has to go through within seconds, and an upload before its time is up.
    private static let leastBytesPerSecond = 1 << 20

    // MARK: What is forgotten

    func schedule() throws -> Collector.Schedule {
        let days = try number("retention-days", in: 1...36_500)
        let seconds = try number("log-keep-seconds")
        guard seconds <= days * 86_400 else {
            throw Problem(message: "log-keep-seconds: that is longer than retention-days")
        }
        var schedule = Collector.Schedule()
        schedule.retentionMilliseconds = Int64(days) * 86_400_000
        let feedDays = try number("feed-retention-days", in: 1...36_500)
        schedule.feedMilliseconds = Int64(feedDays) * 86_400_000
        schedule.keepMilliseconds = Int64(seconds) * 1_000
        schedule.logBytes = try logBytes()
        schedule.logMilliseconds = min(max(1_000, schedule.keepMilliseconds / 2), 30_000)
        let grace = try limits().assetGraceMilliseconds
        schedule.assetMilliseconds = min(max(1_000, grace / 10), schedule.assetMilliseconds)
        schedule.logMilliseconds = min(schedule.logMilliseconds, schedule.assetMilliseconds)
        return schedule
    }

    private func logBytes() throws -> UInt64 {
        guard !self["log-megabytes"].isEmpty else {
            return Collector.Schedule.logBytes(onFileSystemOf: Files.fileSystemBytes(of: data))
        }
        let most = Configuration.largest >> 20
        return UInt64(try number("log-megabytes", in: 1...most)) << 20
    }
}
