// An app with KDE's stock connector library: it registers, and writes what it is told into a file, one line for each event.
#include <KUnifiedPush/Connector>
#include <QCoreApplication>
#include <QDBusConnection>
#include <QFile>

int main(int argc, char **argv)
{
    QCoreApplication app(argc, argv);
    const QString service = QString::fromLocal8Bit(argv[1]);
    const QString path = QString::fromLocal8Bit(argv[2]);
    const auto write = [path](const QByteArray &line) {
        QFile file(path);
        if (file.open(QIODevice::WriteOnly | QIODevice::Append)) {
            file.write(line + '\n');
        }
    };
    if (!QDBusConnection::sessionBus().registerService(service)) {
        return 1;
    }
    KUnifiedPush::Connector connector(service);
    const auto text = [](const QByteArray &bytes) {
        return bytes.toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals);
    };
    const auto writeEndpoint = [&](const QString &endpoint) {
        write("endpoint " + endpoint.toUtf8() + ' ' + text(connector.contentEncryptionPublicKey()) + ' '
              + text(connector.contentEncryptionAuthSecret()));
    };
    QObject::connect(&connector, &KUnifiedPush::Connector::endpointChanged, writeEndpoint);
    QObject::connect(&connector, &KUnifiedPush::Connector::messageReceived, [&](const QByteArray &message) {
        write("message " + message);
    });
    QObject::connect(&connector, &KUnifiedPush::Connector::stateChanged, [&](auto state) {
        write("state " + QByteArray::number(int(state)));
    });
    write("pid " + QByteArray::number(app.applicationPid()));
    if (argc > 3) {
        connector.unregisterClient();
    } else {
        connector.registerClient(QStringLiteral("a test"));
    }
    return app.exec();
}
