// SPDX-License-Identifier: Apache-2.0
// A Hangfire server as a .NET team runs it: it knows nothing of Pillarbox. Its methods write down what ran.
// worker CONNECTION_STRING
using System.Globalization;
using Hangfire;
using Hangfire.PostgreSql;
using Hangfire.Server;
using Npgsql;

namespace Shop.Jobs;

public interface IEmailJobs
{
    void SendVerification(long userId, string tenant, CancellationToken stop, PerformContext context);
    void SendSometimes(Order order, PerformContext context);
}

public sealed record Order(long UserId, string Note, decimal Total);

public sealed class EmailJobs(string database) : IEmailJobs
{
    public void SendVerification(long userId, string tenant, CancellationToken stop, PerformContext context)
    {
        stop.ThrowIfCancellationRequested();
        Note(userId, tenant, context);
    }

    // Fails at its first try: Hangfire tries again by itself, in the same queue.
    [AutomaticRetry(Attempts = 3, DelaysInSeconds = [1, 1, 1])]
    public void SendSometimes(Order order, PerformContext context)
    {
        Note(order.UserId, order.Note + "|" + order.Total.ToString(CultureInfo.InvariantCulture), context);
        if (context.GetJobParameter<int>("RetryCount") == 0) throw new InvalidOperationException("the first try fails");
    }

    private void Note(long userId, string text, PerformContext context)
    {
        using var connection = new NpgsqlConnection(database);
        connection.Open();
        using var insert = new NpgsqlCommand(
            "insert into ran (job_id, user_id, text, culture, message_id, queue) values ($1, $2, $3, $4, $5, $6)", connection);
        insert.Parameters.AddWithValue(long.Parse(context.BackgroundJob.Id, CultureInfo.InvariantCulture));
        insert.Parameters.AddWithValue(userId);
        insert.Parameters.AddWithValue(text);
        insert.Parameters.AddWithValue(CultureInfo.CurrentCulture.Name);
        insert.Parameters.AddWithValue(context.GetJobParameter<string>("Pillarbox.MessageId"));
        insert.Parameters.AddWithValue(context.BackgroundJob.Job.Queue ?? "default");
        insert.ExecuteNonQuery();
    }
}

internal sealed class Activator(string database) : JobActivator
{
    public override object ActivateJob(Type type) =>
        type == typeof(IEmailJobs) ? new EmailJobs(database) : base.ActivateJob(type);
}

internal static class Program
{
    private static int Main(string[] args)
    {
        var database = args[0];
        GlobalConfiguration.Configuration
            .UseSimpleAssemblyNameTypeSerializer()
            .UseRecommendedSerializerSettings()
            .UseActivator(new Activator(database))
            .UsePostgreSqlStorage(
                options => options.UseNpgsqlConnection(database),
                new PostgreSqlStorageOptions
                {
                    QueuePollInterval = TimeSpan.FromMilliseconds(200),
                    EnableLongPolling = true,
                    InvisibilityTimeout = TimeSpan.FromSeconds(5),
                    UseSlidingInvisibilityTimeout = true,
                });
        using var server = new BackgroundJobServer(new BackgroundJobServerOptions
        {
            Queues = ["default", "mail"],
            WorkerCount = 4,
            SchedulePollingInterval = TimeSpan.FromSeconds(1),
        });
        Console.WriteLine("ready");
        using var stop = new ManualResetEventSlim();
        using var term = System.Runtime.InteropServices.PosixSignalRegistration.Create(
            System.Runtime.InteropServices.PosixSignal.SIGTERM, context => { context.Cancel = true; stop.Set(); });
        stop.Wait();
        return 0;
    }
}
