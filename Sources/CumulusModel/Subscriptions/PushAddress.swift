// Where a push service reaches a device, and what a cluster can push with.
//
// Part of the client's surface: apps register an address, see `Container.register(_:)`. Nodes keep
// it as a register, and couriers send to it.

/// A service that wakes devices.
///
/// Numbers are as in `pushes.proto`.
public enum PushService: UInt32, CaseIterable, Hashable, Sendable {
    /// Apple's Push Notification service.
    case apns = 1
    /// The push service of a browser, by RFC 8030.
    case webPush = 2
    /// Firebase Cloud Messaging.
    case fcm = 3

    /// The name in files of operators and on the command line.
    public var name: String {
        switch self {
        case .apns: "apns"
        case .webPush: "web-push"
        case .fcm: "fcm"
        }
    }
}

/// The address of a device at a push service.
public struct PushAddress: Hashable, Sendable {
    /// The service that reaches it.
    public var service: PushService
    /// What the service gave to the device: hexadecimal digits of APNs, the URL of a browser's
    /// subscription, or a registration token of FCM.
    public var token: String
    /// APNs: the bundle id of the app; empty for other services.
    public var topic: String
    /// APNs: the app runs in the development environment of APNs.
    public var isSandbox: Bool
    /// Web Push: the subscription's key `p256dh`, 65 bytes; empty for other services.
    public var publicKey: [UInt8]
    /// Web Push: the subscription's secret `auth`, 16 bytes; empty for other services.
    public var secret: [UInt8]
    /// A text for people, in the list of addresses.
    public var label: String

    package init(
        service: PushService,
        token: String,
        topic: String = "",
        isSandbox: Bool = false,
        publicKey: [UInt8] = [],
        secret: [UInt8] = [],
        label: String = ""
    ) {
        self.service = service
        self.token = token
        self.topic = topic
        self.isSandbox = isSandbox
        self.publicKey = publicKey
        self.secret = secret
        self.label = label
    }

    /// The address of an app that registered with APNs.
    ///
    /// - Parameters:
    ///   - deviceToken: What APNs gave to the app.
    ///   - topic: The app's bundle id.
    ///   - isSandbox: The app was built for the development environment of APNs.
    ///   - label: A text for people.
    public static func apns(
        deviceToken: [UInt8],
        topic: String,
        isSandbox: Bool = false,
        label: String = ""
    ) -> PushAddress {
        PushAddress(
            service: .apns,
            token: deviceToken.hex,
            topic: topic,
            isSandbox: isSandbox,
            label: label
        )
    }

    /// The address of a browser's push subscription.
    ///
    /// - Parameters:
    ///   - endpoint: Its URL.
    ///   - publicKey: Its key `p256dh`, 65 bytes.
    ///   - secret: Its secret `auth`, 16 bytes.
    ///   - label: A text for people.
    public static func webPush(
        endpoint: String,
        publicKey: [UInt8],
        secret: [UInt8],
        label: String = ""
    ) -> PushAddress {
        PushAddress(
            service: .webPush,
            token: endpoint,
            publicKey: publicKey,
            secret: secret,
            label: label
        )
    }

    /// The address of an app that registered with FCM.
    public static func fcm(token: String, label: String = "") -> PushAddress {
        PushAddress(service: .fcm, token: token, label: label)
    }
}

/// What a cluster can push with in a container, as its operator has set up.
public struct PushOffer: Hashable, Sendable {
    /// The service.
    public var service: PushService
    /// APNs: the bundle ids of apps that may register.
    public var topics: [String]
    /// Web Push: the key `applicationServerKey` with which a page subscribes, 65 bytes.
    public var publicKey: [UInt8]
    /// Web Push: the hosts to which an address may lead.
    package var hosts: [PushHost]

    package init(
        service: PushService,
        topics: [String] = [],
        publicKey: [UInt8] = [],
        hosts: [PushHost] = []
    ) {
        self.service = service
        self.topics = topics
        self.publicKey = publicKey
        self.hosts = hosts
    }
}

/// A host, or all hosts below a domain, to which addresses of Web Push may lead.
package struct PushHost: Hashable, Sendable {
    /// In lower case, without the asterisk and the port.
    package let name: String
    /// The text began with "*.".
    package let isDomain: Bool
    /// The only port that addresses may name; 0 if the text names none that there is.
    package let port: Int

    /// A name such as "push.example.com", "*.example.com" or "push.example.com:8443".
    package init(_ text: String) {
        isDomain = text.hasPrefix("*.")
        let parts = (isDomain ? text.dropFirst(2) : text[...])
            .split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        name = parts[0].lowercased()
        port = parts.count < 2 ? 443 : UInt16(parts[1]).map { Int($0) } ?? 0
    }

    /// The push services of the browsers that most people have.
    package static let usual = [
        "fcm.googleapis.com", "updates.push.services.mozilla.com", "*.push.apple.com",
        "*.notify.windows.com",
    ].map { PushHost($0) }

    /// Whether an address is one of it.
    package func leads(to address: WebAddress) -> Bool {
        let host = address.host
        return address.port == port && (isDomain ? host.hasSuffix("." + name) : host == name)
    }
}
