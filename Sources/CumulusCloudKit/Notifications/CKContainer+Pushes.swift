// Where Apple's push service wakes the app: apps say so in the method that gets the device token.

internal import Cumulus
internal import CumulusModel
public import Foundation

extension CKContainer {
    /// Lets the user's subscriptions wake this device by Apple's push service.
    ///
    /// Call it in `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`, at each
    /// launch. On Apple's systems CloudKit does this by itself; here the operator of the cluster
    /// has a key of APNs for the app. The pushes have CloudKit's payload. Beyond CloudKit.
    ///
    /// - Parameters:
    ///   - deviceToken: What the system gave to the app.
    ///   - topic: The app's bundle id.
    ///   - isSandbox: The app was built for the development environment of APNs.
    /// - Throws: `invalidArguments` if the cluster has no key for the app; `notAuthenticated` if no
    ///   user is signed in.
    public func registerForRemoteNotifications(
        deviceToken: Data,
        topic: String,
        isSandbox: Bool
    ) async throws {
        let address = PushAddress.apns(
            deviceToken: [UInt8](deviceToken),
            topic: topic,
            isSandbox: isSandbox
        )
        try await call { container in _ = try await container.register(address) }
    }
}
