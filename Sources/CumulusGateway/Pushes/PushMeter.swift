// A node's counters of pushes: what services took, what failed, devices that are gone, and how long
// the oldest waiting change has waited.
//
// Written by `PushCourier`, read by `OperatorPages`. A node that does not push keeps the counts,
// and shows no lag.

import CoreMetrics
import CumulusModel
package import CumulusNode
import Synchronization

package final class PushMeter: Sendable {
    /// What became of a push.
    enum End: CaseIterable {
        case taken
        case failed
        case refused
        case gone

        fileprivate var metric: MetricDescription {
            switch self {
            case .taken: .pushTaken
            case .failed: .pushFailed
            case .refused: .pushRefused
            case .gone: .pushGone
            }
        }
    }

    private struct Entry {
        let counters: [End: Counter]
        /// The couriers of this node, each with when the change happened that it tells now, in
        /// milliseconds since 1970 UTC; nil means that nothing waits.
        var couriers: [PushAddresses.Target: Int64?] = [:]

        init(_ service: PushService, _ registry: PrometheusRegistry) {
            var counters: [End: Counter] = [:]
            for end in End.allCases {
                counters[end] = Counter(
                    label: end.metric.name,
                    dimensions: [("service", service.name)],
                    factory: registry
                )
            }
            self.counters = counters
        }
    }

    private let registry = PrometheusRegistry(End.allCases.map(\.metric))
    private let entries = Mutex<[PushService: Entry]>([:])

    package init() {}

    /// A device is pushed to from here, from now on.
    func begin(_ target: PushAddresses.Target) {
        change(target) { $0.couriers[target] = .some(nil) }
    }

    /// It is not any more.
    func end(_ target: PushAddresses.Target) {
        change(target) { $0.couriers[target] = nil }
    }

    /// A change waits to be told.
    func wait(_ target: PushAddresses.Target, since: Int64?) {
        change(target) { if $0.couriers[target] != nil { $0.couriers[target] = .some(since) } }
    }

    /// A push has ended.
    func count(_ end: End, _ target: PushAddresses.Target) {
        change(target) { $0.counters[end]?.increment() }
    }

    private func change(_ target: PushAddresses.Target, _ body: (inout Entry) -> Void) {
        let service = target.address.service
        entries.withLock { body(&$0[service, default: Entry(service, registry)]) }
    }

    /// - Parameter now: Milliseconds since 1970 UTC.
    package func metrics(now: Int64) -> [MetricFamily] {
        let entries = entries.withLock { $0 }.sorted { $0.key.rawValue < $1.key.rawValue }
        var devices = MetricFamily(
            "cumulus_push_devices",
            .gauge,
            "Devices that this node pushes to."
        )
        var lag = MetricFamily(
            "cumulus_push_lag_seconds",
            .gauge,
            "Time since the oldest change that a device is told now; 0 if nothing waits."
        )
        for (service, entry) in entries {
            devices.add(Double(entry.couriers.count), ("service", service.name))
            let oldest = entry.couriers.values.compactMap(\.self).min()
            lag.add(Double(oldest.map { max(0, now - $0) } ?? 0) / 1e3, ("service", service.name))
        }
        return registry.families + [devices, lag]
    }
}

extension MetricDescription {
    fileprivate static let pushTaken = MetricDescription(
        "cumulus_push_taken_total",
        .counter,
        "Pushes that the service took."
    )
    fileprivate static let pushFailed = MetricDescription(
        "cumulus_push_failed_total",
        .counter,
        "Attempts to push, or to follow the feed, that failed."
    )
    fileprivate static let pushRefused = MetricDescription(
        "cumulus_push_refused_total",
        .counter,
        "Pushes that the service will never take."
    )
    fileprivate static let pushGone = MetricDescription(
        "cumulus_push_gone_total",
        .counter,
        "Addresses that ended since the service said that the device is gone."
    )
}
