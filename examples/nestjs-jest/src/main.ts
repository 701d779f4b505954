/** Both services as they are deployed, in one process here: `KAFKA_BROKERS=localhost:9092 npm start`. */
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import type { MicroserviceOptions } from '@nestjs/microservices'
import { kafkaOptions, settingsFromEnvironment } from './kafka.ts'
import { PricingModule } from './pricing/pricing.module.ts'
import { ShopModule } from './shop/shop.module.ts'

const settings = settingsFromEnvironment()

const pricing = await NestFactory.createMicroservice<MicroserviceOptions>(
  PricingModule,
  kafkaOptions('pricing', settings),
)
pricing.enableShutdownHooks()
await pricing.listen()

const shop = await NestFactory.create(ShopModule.register(settings))
shop.enableShutdownHooks()
await shop.listen(process.env.PORT ?? 3000)
