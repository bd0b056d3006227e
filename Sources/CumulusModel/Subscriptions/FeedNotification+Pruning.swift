// What a notification loses when it is too large.
//
// Called by nodes for the pages of feeds, and by the couriers of pushes for what services take.

extension FeedNotification {
    /// Leaves out one part after the other, in CloudKit's order, until the rest is small enough.
    ///
    /// The parts that name the change always stay.
    package mutating func prune(while isTooLarge: (FeedNotification) -> Bool) {
        for part in Self.parts {
            if !isTooLarge(self) { return }
            part(&self)
            isPruned = true
        }
    }

    private static var parts: [(inout FeedNotification) -> Void] {
        typealias Info = Subscription.NotificationInfo
        func text(_ path: WritableKeyPath<Info, String?>) -> (inout FeedNotification) -> Void {
            { $0.notificationInfo?[keyPath: path] = nil }
        }
        func list(_ path: WritableKeyPath<Info, [String]>) -> (inout FeedNotification) -> Void {
            { $0.notificationInfo?[keyPath: path] = [] }
        }
        return [
            { $0.dropFields() }, text(\.soundName), text(\.alertLaunchImage),
            text(\.alertActionLocalizationKey), text(\.alertBody), list(\.alertLocalizationArgs),
            text(\.alertLocalizationKey), { $0.notificationInfo?.shouldBadge = false },
            // CloudKit's list does not name the following parts.
            list(\.titleLocalizationArgs), list(\.subtitleLocalizationArgs), text(\.subtitle),
            text(\.subtitleLocalizationKey), text(\.title), text(\.titleLocalizationKey),
            text(\.category), text(\.collapseIDKey),
        ]
    }

    private mutating func dropFields() {
        guard case .record(var record) = news else { return }
        record.fields = [:]
        news = .record(record)
    }
}
