// The content of a subscription's notifications, part by part as in CloudKit.
//
// It is part of the client's surface. The tables at the end name each part once. The place of a
// part is its number on the wire and on disks; its name is the one in CloudKit and in the command
// line's JSON.

extension Subscription {
    /// What a notification shows and carries.
    ///
    /// An empty text is the same as none. Arguments are names of fields; the app puts their values
    /// into its localised text, in their order.
    public struct NotificationInfo: Hashable, Sendable {
        /// The text of the alert.
        public var alertBody: String?
        /// Key of the alert's text in the app's strings.
        public var alertLocalizationKey: String?
        /// Fields whose values stand in that text.
        public var alertLocalizationArgs: [String] = []
        /// The title of the alert.
        public var title: String?
        /// Key of the title in the app's strings.
        public var titleLocalizationKey: String?
        /// Fields whose values stand in that title.
        public var titleLocalizationArgs: [String] = []
        /// The line below the title.
        public var subtitle: String?
        /// Key of that line in the app's strings.
        public var subtitleLocalizationKey: String?
        /// Fields whose values stand in that line.
        public var subtitleLocalizationArgs: [String] = []
        /// Key of the title of the alert's button in the app's strings.
        public var alertActionLocalizationKey: String?
        /// The image that the app shows while it starts.
        public var alertLaunchImage: String?
        /// The sound that is played.
        public var soundName: String?
        /// The number on the app's icon grows by one.
        public var shouldBadge = false
        /// The app is woken to fetch what changed; with nothing to show, silently.
        public var shouldSendContentAvailable = false
        /// The app may change the notification before it is shown.
        public var shouldSendMutableContent = false
        /// Names the actions that the app offers with it.
        public var category: String?
        /// A later notification with the same one takes the place of an earlier one.
        public var collapseIDKey: String?
        /// Fields that a notification of a query subscription carries: at most 3, of type STRING,
        /// INT64, DOUBLE, TIMESTAMP, LOCATION or REFERENCE.
        public var desiredKeys: [String] = []
        /// The webhook that is told too, by the name under which an operator registered it; not one
        /// of CloudKit's.
        public var webhook: String?

        /// Nothing is shown and nothing is carried.
        public init() {}
    }
}

// MARK: - The parts

extension Subscription.NotificationInfo {
    package typealias Text = (name: String, path: WritableKeyPath<Self, String?>)
    package typealias Names = (name: String, path: WritableKeyPath<Self, [String]>)
    package typealias Flag = (name: String, path: WritableKeyPath<Self, Bool>)

    /// Numbered from 1, but for the last one, which came later.
    package static var texts: [Text] {
        [
            ("alertBody", \.alertBody), ("alertLocalizationKey", \.alertLocalizationKey),
            ("title", \.title), ("titleLocalizationKey", \.titleLocalizationKey),
            ("subtitle", \.subtitle), ("subtitleLocalizationKey", \.subtitleLocalizationKey),
            ("alertActionLocalizationKey", \.alertActionLocalizationKey),
            ("alertLaunchImage", \.alertLaunchImage), ("soundName", \.soundName),
            ("category", \.category), ("collapseIDKey", \.collapseIDKey), ("webhook", \.webhook),
        ]
    }

    /// Numbered from 12.
    package static var lists: [Names] {
        [
            ("alertLocalizationArgs", \.alertLocalizationArgs),
            ("titleLocalizationArgs", \.titleLocalizationArgs),
            ("subtitleLocalizationArgs", \.subtitleLocalizationArgs),
            ("desiredKeys", \.desiredKeys),
        ]
    }

    /// Numbered from 16.
    package static var flags: [Flag] {
        [
            ("shouldBadge", \.shouldBadge),
            ("shouldSendContentAvailable", \.shouldSendContentAvailable),
            ("shouldSendMutableContent", \.shouldSendMutableContent),
        ]
    }
}

// MARK: - On the wire and on disks

extension Subscription.NotificationInfo: Coded {
    @usableFromInline
    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        for (index, part) in Self.texts.dropLast().enumerated() {
            try code(1 + index, part.path, &coder)
        }
        for (index, part) in Self.lists.enumerated() {
            try coder.checkedList(12 + index, &self[keyPath: part.path])
        }
        for (index, part) in Self.flags.enumerated() {
            try coder.flag(16 + index, &self[keyPath: part.path])
        }
        try code(19, \.webhook, &coder)
    }

    /// A text that is nil where it is empty.
    private mutating func code(
        _ field: Int,
        _ path: WritableKeyPath<Self, String?>,
        _ coder: inout some Coder
    ) throws(MalformedBytes) {
        var text = self[keyPath: path] ?? ""
        try coder.checkedText(field, &text)
        self[keyPath: path] = text.isEmpty ? nil : text
    }
}
