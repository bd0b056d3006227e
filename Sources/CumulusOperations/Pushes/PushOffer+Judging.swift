// Judges the address of a device by what the operator has set up, before it is kept.
//
// Called by the node for each registration. An address of Web Push is a URL that its user chose, so
// it may lead only to hosts that the operator allows, and to no other port of theirs.

import Crypto
package import CumulusModel

extension PushAddress {
    /// The most bytes of a token, whatever the service.
    package static let mostTokenBytes = 2_048
    private static let mostLabelBytes = 128

    /// Refuses an address that no courier could use.
    package func check(against offers: [PushOffer]) throws(ServiceError) {
        guard label.utf8.count <= PushAddress.mostLabelBytes else {
            throw .invalidPush("a label has at most \(PushAddress.mostLabelBytes) bytes")
        }
        guard !token.isEmpty, token.utf8.count <= PushAddress.mostTokenBytes,
            token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw .invalidPush(
                "a token has 1 to \(PushAddress.mostTokenBytes) printable ASCII characters"
            )
        }
        guard let offer = offers.first(where: { $0.service == service }) else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                this cluster pushes nothing by \(service.name) in this container; an operator sets \
                it up in the file of 'cumulusd --pushes'
                """
            )
        }
        guard service == .webPush || publicKey.isEmpty && secret.isEmpty else {
            throw .invalidPush("keys are for addresses of Web Push")
        }
        guard service == .apns || topic.isEmpty && !isSandbox else {
            throw .invalidPush("a topic and the sandbox are for addresses of APNs")
        }
        switch service {
        case .apns: try checkAPNs(offer)
        case .webPush: try checkWebPush(offer)
        case .fcm: break
        }
    }

    private func checkAPNs(_ offer: PushOffer) throws(ServiceError) {
        guard let bytes = Bytes(hex: token), (8...100).contains(bytes.count), bytes.hex == token
        else {
            throw .invalidPush(
                "a device token has 16 to 200 hexadecimal digits in lower case, as APNs gave it"
            )
        }
        guard offer.topics.contains(topic) else {
            throw .invalidPush(
                """
                '\(topic)' is no topic for which this cluster has a key; name the app's bundle id, \
                which an operator lists in the file of 'cumulusd --pushes'
                """
            )
        }
    }

    private func checkWebPush(_ offer: PushOffer) throws(ServiceError) {
        guard let address = WebAddress(token), address.isSecret,
            offer.hosts.contains(where: { $0.leads(to: address) })
        else {
            throw .invalidPush(
                """
                the URL leads to no push service that this cluster pushes to; pass the endpoint as \
                the browser gave it, or ask an operator to allow its host in the file of \
                'cumulusd --pushes'
                """
            )
        }
        guard publicKey.count == 65,
            (try? P256.KeyAgreement.PublicKey(x963Representation: publicKey)) != nil
        else { throw .invalidPush("p256dh is no point of the curve P-256 of 65 bytes") }
        guard secret.count == 16 else { throw .invalidPush("auth has 16 bytes") }
    }
}

extension ServiceError {
    fileprivate static func invalidPush(_ reason: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, "the push address can't be used: \(reason)")
    }
}
