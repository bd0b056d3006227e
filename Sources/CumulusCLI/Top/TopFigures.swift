// The figures of `cumulus top`: rates and times between two samples of a node's metrics.
//
// Pure: two samples and the seconds between them. A counter that went back belongs to a node that
// was started anew, and counts from zero.

import CumulusModel

struct TopFigures: Equatable {
    struct Method: Equatable {
        var name: String
        var callsPerSecond: Double
        var errorsPerSecond: Double
        var times: Quantiles
    }

    /// The lag of another member, and the delay of its commits.
    struct Peer: Equatable {
        var node: String
        var lagCommits: Double
        var lagSeconds: Double
        /// nil if it sent none.
        var delaySeconds: Double?
    }

    /// Times in seconds; nil if nothing was measured.
    struct Quantiles: Equatable {
        var median: Double?
        var high: Double?
    }

    var isReady = false
    var version = ""
    /// When the node began, in seconds since 1970.
    var start = 0.0
    var methods: [Method] = []
    var peers: [Peer] = []
    var callsInProgress = 0.0
    var connections = 0.0
    var followers = 0.0
    var notificationsPerSecond = 0.0
    var changesPerSecond = 0.0
    var receivedPerSecond = 0.0
    var flushesPerSecond = 0.0
    var flushes = Quantiles()
    var waitingWrites = 0.0
    var waitingReads = 0.0
    var residentBytes = 0.0
    /// Processors in use.
    var processors = 0.0
    var storeBytes = 0.0
    var assetBytes = 0.0
    var logBytes = 0.0
    var freeBytes = 0.0
    var damagedRows = 0.0

    init(from last: MetricSamples, to next: MetricSamples, seconds: Double) {
        let change = Change(last: last, next: next, seconds: max(seconds, 0.001))
        isReady = next.sum("cumulus_ready") == 1
        version = next.values(of: "version", in: "cumulus_build_info").first ?? ""
        start = next.sum("process_start_time_seconds")
        methods = next.values(of: "method", in: "cumulus_calls_total").sorted()
            .map { change.method($0) }.filter { $0.callsPerSecond > 0 }
            .sorted { ($1.callsPerSecond, $0.name) < ($0.callsPerSecond, $1.name) }
        peers = next.values(of: "peer", in: "cumulus_replication_lag_commits").sorted().map {
            node in
            let label = ["peer": node]
            return Peer(
                node: node,
                lagCommits: next.sum("cumulus_replication_lag_commits", label),
                lagSeconds: next.sum("cumulus_replication_lag_seconds", label),
                delaySeconds: next.all("cumulus_replication_delay_seconds", label).first?.value
            )
        }
        callsInProgress = next.sum("cumulus_calls_in_progress")
        connections = next.sum("cumulus_connections")
        followers = next.sum("cumulus_followers")
        notificationsPerSecond = change.rate("cumulus_notifications_total")
        changesPerSecond = change.rate("cumulus_commits_total")
        receivedPerSecond = change.rate("cumulus_received_commits_total")
        flushesPerSecond = change.rate("cumulus_flushes_total")
        flushes = change.quantiles("cumulus_flush_duration_seconds")
        waitingWrites = next.sum("cumulus_queue_length", ["queue": "writer"])
        waitingReads = next.sum("cumulus_queue_length", ["queue": "readers"])
        residentBytes = next.sum("process_resident_memory_bytes")
        processors = change.rate("process_cpu_seconds_total")
        storeBytes = next.sum("cumulus_store_bytes")
        assetBytes = next.sum("cumulus_asset_bytes")
        logBytes = next.sum("cumulus_log_bytes")
        freeBytes = next.sum("cumulus_disk_free_bytes")
        damagedRows = next.sum("cumulus_damaged_rows_total")
    }

    // MARK: Two samples

    private struct Change {
        let last: MetricSamples
        let next: MetricSamples
        let seconds: Double

        func growth(_ name: String, _ labels: [String: String] = [:]) -> Double {
            let (before, now) = (last.sum(name, labels), next.sum(name, labels))
            return now < before ? now : now - before
        }

        func rate(_ name: String, _ labels: [String: String] = [:]) -> Double {
            growth(name, labels) / seconds
        }

        func method(_ name: String) -> Method {
            let (all, label) = ("cumulus_calls_total", ["method": name])
            let calls = rate(all, label)
            return Method(
                name: name,
                callsPerSecond: calls,
                errorsPerSecond: max(0, calls - rate(all, ["method": name, "code": "ok"])),
                times: quantiles("cumulus_call_duration_seconds", label)
            )
        }

        func quantiles(_ name: String, _ labels: [String: String] = [:]) -> Quantiles {
            let bounds = next.values(of: "le", in: name + "_bucket")
            let buckets = bounds.compactMap { text -> Histogram.Bucket? in
                guard let bound = Double(text == "+Inf" ? "inf" : text) else { return nil }
                let count = growth(name + "_bucket", labels.merging(["le": text]) { $1 })
                return Histogram.Bucket(bound: bound, count: count)
            }
            let histogram = Histogram(buckets)
            return Quantiles(median: histogram.quantile(0.5), high: histogram.quantile(0.99))
        }
    }
}

/// How many times were at most as long as each bound.
struct Histogram {
    struct Bucket {
        var bound: Double
        var count: Double
    }

    /// Buckets by bound.
    private let buckets: [Bucket]

    init(_ buckets: [Bucket]) {
        self.buckets = buckets.sorted { $0.bound < $1.bound }
    }

    /// The time that a share of all times reached at most; nil if there are none.
    ///
    /// Times are taken to be spread evenly between two bounds; those beyond the last bound count as
    /// that one.
    func quantile(_ share: Double) -> Double? {
        guard let total = buckets.last?.count, total > 0 else { return nil }
        let rank = share * total
        var (bound, count) = (0.0, 0.0)
        for bucket in buckets {
            if bucket.count >= rank {
                guard bucket.bound.isFinite else { return bound }
                let inside = bucket.count - count
                let part = inside > 0 ? (rank - count) / inside : 1
                return bound + (bucket.bound - bound) * part
            }
            (bound, count) = (bucket.bound, bucket.count)
        }
        return bound
    }
}

extension TopFigures {
    /// The object of a line of `--json`.
    var json: JSON {
        .object([
            JSON.Member("ready", .bool(isReady)), JSON.Member("version", .string(version)),
            JSON.Member("start", number(start)),
            JSON.Member("connections", number(connections)),
            JSON.Member("callsInProgress", number(callsInProgress)),
            JSON.Member("followers", number(followers)),
            JSON.Member("notificationsPerSecond", number(notificationsPerSecond)),
            JSON.Member("changesPerSecond", number(changesPerSecond)),
            JSON.Member("receivedCommitsPerSecond", number(receivedPerSecond)),
            JSON.Member("flushesPerSecond", number(flushesPerSecond)),
            JSON.Member("flushSeconds", json(flushes)),
            JSON.Member("waitingWrites", number(waitingWrites)),
            JSON.Member("waitingReads", number(waitingReads)),
            JSON.Member("residentBytes", number(residentBytes)),
            JSON.Member("processors", number(processors)),
            JSON.Member("storeBytes", number(storeBytes)),
            JSON.Member("assetBytes", number(assetBytes)),
            JSON.Member("logBytes", number(logBytes)),
            JSON.Member("freeBytes", number(freeBytes)),
            JSON.Member("damagedRows", number(damagedRows)),
            JSON.Member("methods", .array(methods.map(json))),
            JSON.Member("peers", .array(peers.map(json))),
        ])
    }

    private func json(_ method: Method) -> JSON {
        .object([
            JSON.Member("method", .string(method.name)),
            JSON.Member("callsPerSecond", number(method.callsPerSecond)),
            JSON.Member("errorsPerSecond", number(method.errorsPerSecond)),
            JSON.Member("seconds", json(method.times)),
        ])
    }

    private func json(_ peer: Peer) -> JSON {
        .object([
            JSON.Member("node", .string(peer.node)),
            JSON.Member("lagCommits", number(peer.lagCommits)),
            JSON.Member("lagSeconds", number(peer.lagSeconds)),
            JSON.Member("delaySeconds", peer.delaySeconds.map(number) ?? .null),
        ])
    }

    private func json(_ quantiles: Quantiles) -> JSON {
        .object([
            JSON.Member("p50", quantiles.median.map(number) ?? .null),
            JSON.Member("p99", quantiles.high.map(number) ?? .null),
        ])
    }

    private func number(_ value: Double) -> JSON {
        guard value.isFinite else { return .null }
        return Int64(exactly: value).map { .integer($0) } ?? .decimal(value)
    }
}
